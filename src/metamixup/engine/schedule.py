"""The learning rate as a pure function of the step: nothing to save, nothing to restore."""

import math
from dataclasses import dataclass

from torch.optim import Optimizer

SHAPES = ("cosine", "triangular", "step", "constant")
START, PEAK, END = 0.2, 0.23, 0.07  # of the triangle: the first rate, the share of the run at its peak, the last rate


@dataclass(frozen=True)
class Schedule:
    """A factor on every group's own learning rate over `steps` steps, after a linear warm-up.

    `milestones` are shares of the run at which a step schedule multiplies by `gamma`, so that a shorter run keeps
    its shape: [0.3, 0.6, 0.9] are the paper's epochs 60, 120 and 180 of 200. The last `tuned` steps, in which the
    classifier alone is trained, begin again at the full rate and fall by a cosine of their own.
    """

    steps: int
    shape: str = "cosine"
    warmup: int = 0
    milestones: tuple[float, ...] = ()
    gamma: float = 0.1
    tuned: int = 0

    def factor(self, step: int) -> float:
        """Of the step's learning rate; `step` counts from 0."""
        steps = self.steps - self.tuned
        if self.tuned and step >= steps:
            return _cosine((step - steps) / self.tuned)
        if step < self.warmup:
            return (step + 1) / self.warmup
        share = min(1.0, (step - self.warmup) / max(1, steps - self.warmup))
        if self.shape == "cosine":
            return _cosine(share)
        if self.shape == "triangular":
            return START + (1 - START) * share / PEAK if share < PEAK else 1 - (1 - END) * (share - PEAK) / (1 - PEAK)
        if self.shape == "step":
            # The tolerance keeps 0.3 of 200 epochs at epoch 60 in floating point.
            passed = sum(step >= m * steps - 1e-6 for m in self.milestones)
            return float(self.gamma**passed)
        return 1.0

    def apply(self, optimizer: Optimizer, step: int) -> float:
        """Set every group's rate for this step; the first group's is returned for the record."""
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * self.factor(step)
        return float(optimizer.param_groups[0]["lr"])


def _cosine(share: float) -> float:
    """From 1 to 0."""
    return 0.5 * (1 + math.cos(math.pi * share))
