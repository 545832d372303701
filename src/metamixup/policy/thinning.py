"""Fewer blends: a share of the pairs stays unblended, and ever more of them as the learning rate falls, so that the
network ends its training on the samples themselves."""

import torch
from torch import Tensor

from metamixup.mixing import Pairs


class Settling:
    """How much is left of the blends.

    settle: the share of its peak below which the learning rate thins the blends out; 0 for never.
    Holds peak: the highest learning rate so far; fallen: is the newest one lower?; left: the share of blends that is
    left, in [0, 1].
    """

    def __init__(self, settle: float):
        if not 0 <= settle <= 1:
            raise ValueError(f"settle lies in [0, 1], not {settle}")
        self.settle = settle
        self.peak, self.left, self.fallen = 0.0, 1.0, False

    def see(self, rate: float) -> None:
        """The learning rate of a step."""
        self.peak = max(self.peak, rate)
        self.fallen = rate < self.peak * (1 - 1e-6)  # a constant rate may be off by rounding
        threshold = self.settle * self.peak
        self.left = min(1.0, rate / threshold) if threshold > 0 else 1.0

    def state_dict(self) -> dict[str, float]:
        return {"peak": self.peak, "left": self.left, "fallen": self.fallen}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.peak, self.left, self.fallen = float(state["peak"]), float(state["left"]), bool(state["fallen"])


def thinned(lam: Tensor, share: float, pairs: Pairs, generator: torch.Generator) -> Tensor:
    """λ of each pair, (B,), where only a share of the pairs is blended; in others the first sample is alone."""
    if share == 1:
        return lam
    alone = pairs.drawn(lambda n: torch.rand(n, generator=generator)) >= share
    return torch.where(alone, 1.0, lam)
