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
    """Holds number: of the epoch, from 1 on; last: the one in which each sample came up last, by its index, 0 for
    never; visits: how many samples came up in this epoch, and length: in the one before, 0 in the first; regular: were
    the last two alike?"""

    def __init__(self) -> None:
        self.last = torch.zeros(0, dtype=torch.int32)
        self.number, self.visits, self.length, self.regular = 1, 0, 0, False

    def see(self, index: Tensor) -> None:
        """The samples of a step, (B,)."""
        index = index[index >= 0].cpu()
        if not len(index):
            return
        missing = int(index.max()) + 1 - len(self.last)
        if missing > 0:
            self.last = torch.cat([self.last, torch.zeros(missing, dtype=torch.int32)])
        if bool((self.last[index] == self.number).any()):
            self._begin_next()
        self.last[index] = self.number
        self.visits += len(index)

    def _begin_next(self) -> None:
        alike = abs(self.visits - self.length) <= ALIKE * self.visits
        self.regular = alike and self.visits > BY_CHANCE * math.sqrt(float((self.last > 0).sum()))
        self.number, self.visits, self.length = self.number + 1, 0, self.visits

    @property
    def over(self) -> float | None:
        """The share of the epoch that is over with this step; None where nothing tells."""
        return min(1.0, self.visits / self.length) if self.regular else None

    def state_dict(self) -> dict[str, Any]:
        numbers = {"number": self.number, "visits": self.visits, "length": self.length, "regular": self.regular}
        return {"last": self.last.clone(), **numbers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.last, self.regular = state["last"].clone(), bool(state["regular"])
        self.number, self.visits, self.length = (int(state[name]) for name in ("number", "visits", "length"))
