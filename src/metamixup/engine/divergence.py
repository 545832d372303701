"""A run whose numbers are no longer finite stops, and says at which step, with which rate, and what is still good."""

import math
from typing import Any

from metamixup.engine.training import Training


class Diverged(Exception):
    """A loss, a weight, a buffer or a score is no longer a finite number; the command line exits with code 1."""

    def __init__(self, what: str, step: int, lr: float):
        super().__init__(f"{what} at step {step} with learning rate {lr:.4g}")
        self.step, self.lr = step, lr


def finite_tensors(training: Training) -> set[str]:
    """Names of the weights and buffers of all networks of a run, averaged ones too, that hold finite numbers only. A
    network of the user's own may hold others from the start: a mask of −∞, for instance."""
    named = ((f"{net}.{key}", v) for net, module in training.modules() for key, v in module.state_dict().items())
    return {name for name, value in named if bool(value.isfinite().all())}


def first_lost(line: dict[str, Any]) -> str | None:
    """The first number of an epoch's line that is not finite: outputs can be lost while all weights are finite."""
    numbers = {**line["losses"], **{key: value for key, value in line.items() if isinstance(value, float)}}
    return next((f"{name} became {value}" for name, value in numbers.items() if not math.isfinite(value)), None)
