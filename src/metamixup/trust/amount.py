"""How many pairs are blended: all of them at first, ever fewer as the learning rate falls, so that the network ends its
training on the images themselves."""

from typing import Any

import torch
from torch import Tensor

from metamixup.mixing import Pairs


class Amount:
    """The share of pairs that are blended.

    settle: the share of its peak below which the learning rate thins the blends out; 0 for never.
    Holds peak: the highest learning rate so far; share: of pairs that are blended, in [0, 1].
    """

    def __init__(self, settle: float = 0.5):
        self.settle = settle
        self.peak, self.share = 0.0, 1.0

    def see(self, rate: float) -> None:
        """The learning rate of a step that learns."""
        self.peak = max(self.peak, rate)
        threshold = self.settle * self.peak
        self.share = min(1.0, rate / threshold) if threshold > 0 else 1.0

    def thinned(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """λ of each pair, (B,); a pair that is not blended is its larger side alone."""
        if self.share == 1:
            return lam
        alone = pairs.drawn(lambda n: torch.rand(n, generator=generator)) >= self.share
        return torch.where(alone, lam.round(), lam)

    def state_dict(self) -> dict[str, Any]:
        return {"peak": self.peak, "share": self.share}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.peak, self.share = float(state["peak"]), float(state["share"])
