"""Weights that grow from 0 to 1 early in a run: a network knows nothing at first, so its guesses count little."""

import math
from dataclasses import dataclass

from metamixup.methods.method import Batch

SHAPES = ("none", "linear", "exponential")


@dataclass(frozen=True)
class Ramp:
    """`exponential`: exp(−5(1−t)²) (Mean Teacher, Oliver et al.); `linear`: t (MixMatch); `none`: always 1.

    over: where the ramp ends, a share of the run up to 1, or a number of steps above 1.
    """

    shape: str = "none"
    over: float = 0.4

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise ValueError(f"a ramp is one of {', '.join(SHAPES)}, not {self.shape!r}")
        if self.over < 0:
            raise ValueError(f"a ramp ends at a share of the run or at a step, not at {self.over}")

    def __call__(self, batch: Batch) -> float:
        t = self._time(batch)
        if self.shape == "none" or t >= 1:
            return 1.0
        return t if self.shape == "linear" else math.exp(-5 * (1 - t) ** 2)

    def _time(self, batch: Batch) -> float:
        if self.over == 0:
            return 1.0
        return (batch.progress if self.over <= 1 else batch.step) / self.over
