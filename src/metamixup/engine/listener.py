"""Who watches a run: progress on a terminal, plain lines, TensorBoard. A listener never changes the run."""

from typing import Any


class Listener:
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
