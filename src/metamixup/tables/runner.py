"""What carries out the runs of a grid: one call a run, from as many threads as runs go on at once.

Not here: which runs, in which order and what becomes of them (grid.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

Progress = Callable[[float], None]  # the share of the run that is done


@dataclass(frozen=True)
class Job:
    """A run folder and the dotted settings of the run in it: it is begun there, or gone on with."""

    folder: Path
    given: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """`message` says why a run failed or where it was interrupted."""

    status: Literal["done", "failed", "interrupted"]
    summary: dict[str, Any] | None = None
    message: str = ""


class Runner(Protocol):
    def run_cell(self, job: Job, progress: Progress) -> Result:
        """Carry out one run to its end. A run that fails is a Result, not an exception."""
        ...

    def interrupt(self) -> None:
        """Let the runs that go on save a checkpoint and end."""
        ...

    def close(self) -> None: ...
