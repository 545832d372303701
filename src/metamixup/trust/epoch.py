"""How much of the epoch is over? Samples come by their index, each once an epoch: where one that has come up in this
epoch comes up again, the next one has begun. Where samples are drawn with replacement there are no epochs, and nothing
is told: stretches without a repetition are short.
"""

import math
from typing import Any

import torch
from torch import Tensor

ALIKE = 0.1  # two epochs whose lengths differ by no more are alike
BY_CHANCE = 4.0  # times √N samples drawn with replacement hold a repetition, but in one case of 3,000


class Epoch:
    """Holds met: (N,) which samples have come up in this epoch, by their index; visits: how many there were; length:
    the same of the epoch before, 0 in the first; regular: were the last two alike?"""

    def __init__(self) -> None:
        self.met = torch.zeros(0, dtype=torch.bool)
        self.visits, self.length, self.regular = 0, 0, False

    def see(self, index: Tensor) -> None:
        """The samples of a step, (B,)."""
        index = index[index >= 0].cpu()
        if not len(index):
            return
        missing = int(index.max()) + 1 - len(self.met)
        if missing > 0:
            self.met = torch.cat([self.met, torch.zeros(missing, dtype=torch.bool)])
        if bool(self.met[index].any()):
            alike = abs(self.visits - self.length) <= ALIKE * self.visits
            self.regular = alike and self.visits > BY_CHANCE * math.sqrt(len(self.met))
            self.visits, self.length = 0, self.visits
            self.met.zero_()
        self.met[index] = True
        self.visits += len(index)

    @property
    def over(self) -> float | None:
        """The share of the epoch that is over with this step; None where nothing tells."""
        return min(1.0, self.visits / self.length) if self.regular else None

    def state_dict(self) -> dict[str, Any]:
        return {"met": self.met.clone(), "visits": self.visits, "length": self.length, "regular": self.regular}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.met, self.regular = state["met"].clone(), bool(state["regular"])
        self.visits, self.length = int(state["visits"]), int(state["length"])
