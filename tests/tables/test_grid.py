import json
import threading
import time
from pathlib import Path

import pytest

from metamixup.tables.cells import Cell, Run
from metamixup.tables.grid import Grid
from metamixup.tables.runner import Job, Result


def run(folder: Path, seed: int = 0, source: Run | None = None, cost: float = 1.0) -> Run:
    cell = Cell("digits", "cnn3", folder.name, folder.name, {"method": folder.name}, None, cost)
    return Run(cell, seed, folder, source)


class Fake:
    """Writes a summary, unless the folder's name says otherwise."""

    def __init__(self):
        self.order: list[str] = []
        self.interrupted = threading.Event()
        self.at_once, self.most = 0, 0
        self.lock = threading.Lock()

    def run_cell(self, job: Job, progress) -> Result:
        with self.lock:
            self.order.append(job.folder.name)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        progress(0.5)
        time.sleep(0.02)
        if job.folder.name == "slow":
            self.interrupted.wait(5)
            result = Result("interrupted", message="stopped at step 3")
        elif job.folder.name.startswith("bad"):
            result = Result("failed", message="the loss became nan")
        else:
            job.folder.mkdir(parents=True)
            (job.folder / "summary.json").write_text(json.dumps({"test_error": 1.0}))
            result = Result("done", {"test_error": 1.0})
        with self.lock:
            self.at_once -= 1
        return result

    def interrupt(self) -> None:
        self.interrupted.set()

    def close(self) -> None: ...


def test_finished_runs_are_skipped_and_failed_ones_do_not_stop_the_rest(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "summary.json").write_text('{"test_error": 7.0}')
    runs = [run(tmp_path / name) for name in ("old", "a", "bad", "b")]
    fake = Fake()
    grid = Grid(runs, fake, jobs=2)
    grid.go(lambda: None, period=0.01)
    assert [grid.states[r].status for r in runs] == ["skipped", "done", "failed", "done"]
    assert grid.states[runs[0]].summary == {"test_error": 7.0}
    assert grid.states[runs[2]].message == "the loss became nan"
    assert sorted(fake.order) == ["a", "b", "bad"]
    again = Grid(runs, Fake(), jobs=2)
    assert again.count("skipped") == 3
    assert again.count("waiting") == 1


@pytest.mark.parametrize("jobs", [1, 3])
def test_as_many_runs_go_on_at_once_as_there_are_jobs(tmp_path, jobs):
    fake = Fake()
    Grid([run(tmp_path / f"r{k}") for k in range(6)], fake, jobs).go(lambda: None, period=0.01)
    assert fake.most == jobs


def test_a_replayed_run_waits_for_its_source(tmp_path):
    source = run(tmp_path / "source")
    replayed = run(tmp_path / "replayed", source=source)
    fake = Fake()
    Grid([source, replayed], fake, jobs=2).go(lambda: None, period=0.01)
    assert fake.order == ["source", "replayed"]


def test_stop_interrupts_what_runs_and_begins_nothing_more(tmp_path):
    runs = [run(tmp_path / name) for name in ("slow", "later")]
    grid = Grid(runs, Fake(), jobs=1)

    def watch() -> None:
        if grid.states[runs[0]].status == "running":
            grid.stop()

    grid.go(watch, period=0.01)
    assert [grid.states[r].status for r in runs] == ["interrupted", "waiting"]
    assert grid.states[runs[0]].message == "stopped at step 3"


def test_time_left_follows_what_finished_runs_took(tmp_path):
    runs = [run(tmp_path / "a", cost=1.0), run(tmp_path / "b", cost=3.0)]
    grid = Grid(runs, Fake(), jobs=2)
    assert grid.seconds_left is None
    state = grid.states[runs[0]]
    state.status, state.seconds, state.share = "done", 10.0, 1.0
    assert grid.seconds_left == pytest.approx(3 * 10 / 2)
    grid.states[runs[1]].status, grid.states[runs[1]].share = "running", 0.5
    assert grid.seconds_left == pytest.approx(3 * 10 / 2 / 2)


def test_an_error_in_the_watcher_stops_the_grid(tmp_path):
    runs = [run(tmp_path / name) for name in ("slow", "later")]
    grid = Grid(runs, Fake(), jobs=1)

    def broken() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grid.go(broken, period=0.01)
    assert grid.states[runs[1]].status == "waiting"
