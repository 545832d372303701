"""Runs in worker processes: one after the other in the same process, and still each as if it were alone."""

import io
import json
import os
from pathlib import Path

import pytest

from metamixup.engine.records.run_folder import RunFolder
from metamixup.runs.run import begin
from metamixup.settings.resolve import resolve
from metamixup.tables import worker
from metamixup.tables.local import LocalRunner
from metamixup.tables.runner import Job

TINY = {"model": "cnn-bn", "epochs": 2, "batch_size": 20, "subset": 150, "meta.per_class": 2, "threads": 1}


def given(method: str, **more) -> dict:
    return {**TINY, "method": method, "seed": 1, **more}


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture
def runner(tmp_path):
    runner = LocalRunner(tmp_path / "logs")
    yield runner
    runner.close()
    assert not any(w.alive for w in runner.workers)


def test_runs_of_one_worker_equal_runs_alone_to_the_last_bit(tmp_path, runner):
    shares: list[float] = []
    for method in ("adamixup", "mixup"):
        result = runner.run_cell(Job(tmp_path / method, given(method)), shares.append)
        assert (result.status, result.message) == ("done", "")
        assert result.summary["method"] == method
    assert len(runner.workers) == 1
    assert all(0 < share <= 1 for share in shares)
    alone = RunFolder(tmp_path / "alone")
    begin(alone, resolve(given("mixup")))
    assert weights(alone.root) == weights(tmp_path / "mixup")


def test_a_failure_is_told_and_a_dead_worker_replaced(tmp_path, runner):
    failed = runner.run_cell(Job(tmp_path / "a", given("mixup", data="svhn", data_dir=str(tmp_path))), lambda _: None)
    assert failed.status == "failed"
    assert "svhn" in failed.message

    def kill(_: float) -> None:
        runner.workers[0].process.kill()

    killed = runner.run_cell(Job(tmp_path / "b", given("baseline", epochs=2000)), kill)
    assert killed.status == "failed"
    assert "ended with code -9" in killed.message
    assert runner.run_cell(Job(tmp_path / "c", given("baseline", epochs=1)), lambda _: None).status == "done"
    assert len(runner.workers) == 2


class Never(worker.Listener):
    pass


def test_what_a_worker_answers(tmp_path):
    done = worker.carry_out(tmp_path / "run", given("baseline", epochs=1), Never())
    assert done["status"] == "done"
    again = worker.carry_out(tmp_path / "run", given("baseline", epochs=1), Never())
    assert again == json.loads(json.dumps(done))
    stepped = given("baseline", epochs=1, **{"optimizer.schedule": "step", "optimizer.milestones": [0.5, 0.75]})
    for _ in range(2):  # settings that are lists are found again in what is stored
        assert worker.carry_out(tmp_path / "stepped", stepped, Never())["status"] == "done"
    other = worker.carry_out(tmp_path / "run", given("baseline", epochs=3), Never())
    assert other["status"] == "failed"
    assert "contradicts" in other["message"]
    diverged = worker.carry_out(tmp_path / "nan", given("baseline", **{"optimizer.lr": 1e30}), Never())
    assert diverged["status"] == "failed"
    assert "loss became" in diverged["message"]


def test_a_held_folder_is_waited_for_and_then_told(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "PATIENCE", 0.0)
    with RunFolder(tmp_path).locked():
        answer = worker.carry_out(tmp_path, given("baseline"), Never())
    assert answer["status"] == "failed"
    assert f"in use by process {os.getpid()}" in answer["message"]


def test_an_orphan_ends_itself_at_the_next_step(monkeypatch):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    reporter = worker.Reporter(io.StringIO())
    reporter.started(epochs=1, steps_per_epoch=10, step=0)
    reporter.stepped(1, 0.5)
    assert not ended
    monkeypatch.setattr(os, "getppid", lambda: -1)
    reporter.stepped(2, 0.5)
    assert ended == [1]
