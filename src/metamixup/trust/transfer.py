"""Does what the network learns of the samples that it trains on carry over to others?

    transfer = (what samples that wait gain) / (what trained ones gain),

a gain being how much likelier a sample's label is now than by the running mean of what the network has said of it. It
is 1 or more while the network learns what holds for all samples, since others catch up with the trained ones, and falls
to 0 and below as it learns single samples by heart. Unlike the gap, which says how far the two kinds are apart, it says
whether training on as before still brings anything. And each sample is compared with itself, so that a few hundred
tell.
"""

from typing import Any

import torch
from torch import Tensor

from metamixup.trust.losses import DEVIATIONS, between

OVERFITS = (1.0, 0.85)  # of the transfer: the network learns for all, and surely by heart too
NOTHING = 1e-3  # a mean gain of trained samples that is none
FEWEST = 20  # gains of waiting samples before they tell


class Transfer:
    """Holds sums: (2, 3) the gains of waiting and of trained samples, their squares and their counts."""

    def __init__(self) -> None:
        self.sums = torch.zeros(2, 3, dtype=torch.float64)

    def learn(self, waiting: Tensor, trained: Tensor, fade: float) -> None:
        """Gains, (n,) and (m,). fade: what is left of the sums so far."""
        found = [gains[gains.isfinite()].double().cpu() for gains in (waiting, trained)]
        news = [[float(gains.sum()), float(gains.square().sum()), len(gains)] for gains in found]
        self.sums = fade * self.sums + torch.tensor(news, dtype=torch.float64)

    @property
    def value(self) -> float:
        """1 where trained samples gain nothing that could carry over."""
        waiting, trained = self._means
        return waiting / trained if trained > NOTHING else 1.0

    def overfits(self, surely: bool = True) -> float:
        """Does the network learn by heart, beyond chance if `surely`, in [0, 1]?"""
        waiting, trained = self._means
        if self.sums[0, 2] < FEWEST or trained <= NOTHING:
            return 0.0
        (_, squares, counts), means = self.sums.unbind(1), torch.tensor(self._means)
        by_chance = ((squares / counts - means**2).clamp_min(0) / counts).sum().sqrt()
        return between((waiting + surely * DEVIATIONS * float(by_chance)) / trained, OVERFITS)

    @property
    def _means(self) -> list[float]:
        return (self.sums[:, 0] / self.sums[:, 2].clamp_min(1e-12)).tolist()

    def state_dict(self) -> dict[str, Any]:
        return {"sums": self.sums.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.sums = state["sums"].clone()
