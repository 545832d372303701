"""Many runs, several at once: finished ones are skipped, interrupted ones gone on with, failed ones reported, and the
rest goes on. What a run is, and who carries it out, comes from outside."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.tables.cells import Run
from metamixup.tables.runner import Job, Result, Runner

Status = Literal["waiting", "running", "done", "skipped", "failed", "interrupted"]
OPEN: tuple[Status, ...] = ("waiting", "running")


@dataclass
class State:
    """Where a run is. `share` is how much of it is done; `seconds` is how long this grid took over it."""

    status: Status = "waiting"
    share: float = 0.0
    seconds: float = 0.0
    summary: dict[str, Any] | None = None
    message: str = ""


class Grid:
    """`states` may be read at any time, for a live table."""

    def __init__(self, runs: Sequence[Run], runner: Runner, jobs: int):
        self.runs, self.runner, self.jobs = list(runs), runner, jobs
        self.states = {run: State() for run in self.runs}
        self._ended = {run: threading.Event() for run in self.runs}
        self._stopping = threading.Event()
        for run in self.runs:
            self._skip_finished(run)

    def go(self, watch: Callable[[], None], period: float = 0.25) -> None:
        """Carry out all runs, calling `watch` now and then from this thread."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self._one, run) for run in self.runs if self.states[run].status == "waiting"]
            try:
                self._watch_until_done(futures, watch, period)
            except BaseException:
                self.stop()
                raise
        watch()

    def stop(self) -> None:
        """Begin no further run, and let those that go on save a checkpoint."""
        if not self._stopping.is_set():  # asked again, it must not cut the checkpoints short
            self._stopping.set()
            self.runner.interrupt()

    @property
    def seconds_left(self) -> float | None:
        """By the time that finished runs took beside what their cells were expected to; None before the first."""
        spent = [(self.states[r].seconds, r.cell.cost) for r in self.runs if self.states[r].status == "done"]
        expected = sum(cost for _, cost in spent)
        if not expected:
            return None
        ahead = sum((1 - self.states[r].share) * r.cell.cost for r in self.runs if self.states[r].status in OPEN)
        return ahead * sum(seconds for seconds, _ in spent) / expected / self.jobs

    def count(self, *statuses: Status) -> int:
        return sum(state.status in statuses for state in self.states.values())

    def _watch_until_done(self, futures: list[Future[None]], watch: Callable[[], None], period: float) -> None:
        left = set(futures)
        while left:
            done, left = wait(left, timeout=period)
            for future in done:
                future.result()
            watch()

    def _skip_finished(self, run: Run) -> None:
        folder = RunFolder(run.folder)
        if folder.finished:
            try:
                self.states[run] = State("skipped", 1.0, summary=folder.read_summary())
            except UserError as error:  # a file of anybody's must not stop the others
                self.states[run] = State("failed", message=str(error))
            self._ended[run].set()

    def _one(self, run: Run) -> None:
        state = self.states[run]
        if run.source is not None:
            self._ended[run.source].wait()  # it was begun before this one
        if not self._stopping.is_set():
            self._carry_out(run, state)
        self._ended[run].set()

    def _carry_out(self, run: Run, state: State) -> None:
        state.status, started = "running", time.monotonic()

        def progress(share: float) -> None:
            state.share = share

        result = self.runner.run_cell(Job(run.folder, run.given), progress)
        state.seconds = time.monotonic() - started
        self._note(state, result)

    def _note(self, state: State, result: Result) -> None:
        cut_short = result.status == "failed" and self._stopping.is_set()
        state.summary, state.message = result.summary, result.message
        state.share = 1.0 if result.status == "done" else state.share
        state.status = "interrupted" if cut_short else result.status
