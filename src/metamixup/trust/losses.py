"""Losses of samples with their labels, and running sums of them by label."""

import torch
from torch import Tensor

from metamixup.trust.memory import WIDE

DEVIATIONS = 2  # standard errors in favour of 'nothing is learned by heart': once told, it is told for good
Losses = tuple[Tensor, Tensor]  # (n,) losses, and (n,) the columns of their labels


def finite(found: Losses) -> Losses:
    losses, labels = (values.detach().cpu() for values in found)
    told = losses.isfinite()
    return losses[told].double(), labels[told]


class LossSums:
    """Holds sums: (WIDE, 2) losses and their count, by label."""

    def __init__(self) -> None:
        self.sums = torch.zeros(WIDE, 2, dtype=torch.float64)

    def add(self, found: Losses, fade: float) -> None:
        """fade: what is left of the sums so far."""
        losses, labels = found
        self.sums.mul_(fade).index_add_(0, labels, torch.stack([losses, torch.ones_like(losses)], 1))

    @property
    def mean(self) -> float:
        return mean(*self.sums.sum(0))


def mean(total: Tensor, count: Tensor) -> float:
    return float(total / count.clamp_min(1e-12))


def between(value: float, bounds: tuple[float, float]) -> float:
    """How far from the first bound to the second, in [0, 1]."""
    start, end = bounds
    return min(1.0, max(0.0, (value - start) / (end - start)))
