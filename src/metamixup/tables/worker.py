"""The process that carries out runs for a grid, one after the other: starting Python and torch for each small run
would cost more than the run. Jobs come as lines of JSON on standard input, answers go out on standard output.

Everything random in a run is a function of its seed, so a run here equals `metamixup train` to the last bit.
"""

import json
import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

from metamixup.engine.divergence import Diverged
from metamixup.engine.interrupt import Interrupted
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.runs.run import resume
from metamixup.settings.resolve import resolve
from metamixup.storage import InUse

PATIENCE = 60.0  # seconds to wait for a run folder that an orphan of a killed grid still holds


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints, in whatever language, is no answer
    with answers, redirect_stdout(sys.stderr):
        for line in sys.stdin:
            job = json.loads(line)
            _answer(answers, carry_out(Path(job["folder"]), job["given"], Reporter(answers)))


def carry_out(folder: Path, given: dict[str, Any], listener: Listener) -> dict[str, Any]:
    """Run, or go on with, the run in that folder; what happened, as plain data."""
    try:
        return {"status": "done", "summary": _patiently(RunFolder(folder), given, listener)}
    except Interrupted as error:
        return {"status": "interrupted", "message": str(error)}
    except (UserError, Diverged) as error:
        return {"status": "failed", "message": "; ".join([str(error), *getattr(error, "__notes__", [])])}
    except Exception as error:  # a grid goes on without this run, whatever it was
        return {"status": "failed", "message": f"{type(error).__name__}: {error}"}


def _patiently(folder: RunFolder, given: dict[str, Any], listener: Listener) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return resume(folder, resolve(given), given, [listener])
        except InUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


class Watch(Listener):
    """Ends the process when whoever started it is gone, as if it had been killed too: the next one goes on from the
    checkpoint."""

    def __init__(self) -> None:
        self.parent = os.getppid()

    def stepped(self, step: int, loss: float) -> None:
        if os.getppid() != self.parent:
            os._exit(1)


class Reporter(Watch):
    """Tells the grid how far a run is."""

    def __init__(self, answers: TextIO):
        super().__init__()
        self.answers = answers
        self.steps, self.told = 1, 0.0

    def started(self, epochs: int, steps_per_epoch: int, step: int) -> None:
        self.steps = epochs * steps_per_epoch

    def stepped(self, step: int, loss: float) -> None:
        super().stepped(step, loss)
        if time.monotonic() - self.told > 0.5:
            self.told = time.monotonic()
            _answer(self.answers, {"progress": step / self.steps})


def _answer(answers: TextIO, what: dict[str, Any]) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
