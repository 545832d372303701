"""Who watches a run: `Listener` is the interface; a bar on a terminal, a plain line an epoch elsewhere."""

import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console


class Listener:
    """Watches a run and never changes it."""

    def started(self, epochs: int, steps_per_epoch: int, step: int) -> None:
        """Before the first step; `step` > 0 when the run goes on from a checkpoint."""

    def stepped(self, step: int, loss: float) -> None:
        """After each step."""

    def epoch(self, line: dict[str, Any], lambdas: dict[str, Any]) -> None:
        """After each epoch, with its lines of metrics.jsonl and lambda.jsonl."""

    def say(self, text: str) -> None:
        """One line that a person should see."""

    def stopped(self) -> None:
        """After the last step, also when training was interrupted or failed."""


def epoch_text(line: dict[str, Any], epochs: int) -> str:
    losses = " ".join(f"{name} {value:.4f}" for name, value in line["losses"].items())
    scored = [name for name in ("train", "meta", "test") if f"{name}_error" in line]
    errors = " ".join(f"{name} {line[f'{name}_error']:.2f}%" for name in scored)
    pace = f"{line['seconds']:.1f}s  {line['images_per_second']:.0f} images/s"
    told = f"  error {errors}" if errors else ""  # not every epoch is evaluated
    return f"epoch {line['epoch']}/{epochs}  {losses}{told}  lr {line['lr']:.4g}  {pace}"


class PlainLines(Listener):
    def __init__(self, stream: TextIO | None = None):
        self.stream = stream or sys.stdout
        self.epochs = 0

    def started(self, epochs: int, steps_per_epoch: int, step: int) -> None:
        self.epochs = epochs

    def epoch(self, line: dict[str, Any], lambdas: dict[str, Any]) -> None:
        self.say(epoch_text(line, self.epochs))

    def say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


class Bars(Listener):
    """One bar over all steps with the loss, the last test error and the time left."""

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar = Progress(
            TextColumn("epoch"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("loss {task.fields[loss]}  test error {task.fields[error]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self.shown = 0.0

    def started(self, epochs: int, steps_per_epoch: int, step: int) -> None:
        self.steps_per_epoch = steps_per_epoch
        self.task = self.bar.add_task("", total=epochs, completed=step // steps_per_epoch, loss="–", error="–")
        self.bar.start()

    def stepped(self, step: int, loss: float) -> None:
        if time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            self.bar.update(self.task, completed=step // self.steps_per_epoch, loss=f"{loss:.4f}")

    def epoch(self, line: dict[str, Any], lambdas: dict[str, Any]) -> None:
        error = f"{line['test_error']:.2f}%" if "test_error" in line else "–"
        self.bar.update(self.task, completed=line["epoch"], error=error)

    def say(self, text: str) -> None:
        self.bar.console.print(text, markup=False, highlight=False)

    def stopped(self) -> None:
        self.bar.stop()
