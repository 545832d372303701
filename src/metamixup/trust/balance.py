"""Classes that the meta set has more of than the training set are wanted more, as far as the meta-gradient agrees.

Rare classes are weighted up only late, as the network comes to rest (deferred re-balancing, Cao et al. 2019): from the
start it would see the same few images again and again. What is left of the run is short, so in the end they weigh more
than their share.
"""

import math

import torch
from torch import Tensor

from metamixup import world
from metamixup.trust.losses import between

CHANCE = 2  # times what counts of classes differ by chance in the mean is still chance
POWER = 1.5  # of how much more a class is wanted, in the end
UNEVEN = (0.1, 0.2)  # the spread, beyond chance, of the log of how much more classes are wanted: too little, enough


class Balance:
    """seen, wanted: (C,) how often each class came up in batches and in meta batches; gain: (C,) what its samples, if
    trusted, promised to take off the meta loss, summed up; distinct: how many samples of both kinds there are: one that
    comes up again says nothing new of how frequent its class is."""

    def __init__(self) -> None:
        self.seen, self.wanted, self.gain = torch.zeros(0), torch.zeros(0), torch.zeros(0)
        self.distinct = (math.inf, math.inf)
        self._lift: tuple[Tensor, Tensor] | None = None

    def learn(
        self, labels: Tensor, gain: Tensor, meta_labels: Tensor, distinct: tuple[float, float] | None = None
    ) -> None:
        """labels: (B, C); gain: (B,); meta_labels: (M, C); distinct: None where it is not known."""
        self.distinct = distinct or self.distinct
        labels, meta_labels = labels.float(), meta_labels.float()
        news = (labels.sum(0), meta_labels.sum(0), gain @ labels)
        seen, wanted, gained = (world.total(new) for new in news)
        if not len(self.seen):
            self.seen, self.wanted, self.gain = (torch.zeros_like(seen) for _ in range(3))
        before = [count.to(seen) for count in (self.seen, self.wanted, self.gain)]  # a state may be loaded elsewhere
        self.seen, self.wanted, self.gain = (old + new for old, new in zip(before, (seen, wanted, gained), strict=True))
        self._lift = None

    def weights(self, strength: float) -> Tensor:
        """(C,) up to 1: (share in the meta set / share in training)^power. The power is POWER · `strength` where wanted
        classes are those that the meta-gradient asks for, its negative where it asks for the others."""
        if self._lift is None:  # asked for in every step, learned in few
            self._lift = self._agreed_lift()
        agreed, lift = self._lift
        weight = (POWER * strength * agreed * lift).exp()
        return weight / weight.max()

    def _agreed_lift(self) -> tuple[Tensor, Tensor]:
        """How far the meta-gradient agrees, in [−1, 1], and the log of how much more each class is wanted, (C,)."""
        known = (self.seen > 0) & (self.wanted > 0)
        seen, wanted = (torch.where(known, count, 1) for count in (self.seen, self.wanted))
        lift = torch.where(known, (wanted / wanted[known].sum()).log() - (seen / seen[known].sum()).log(), 0)
        agreement = correlation((self.gain / seen)[known], lift[known])
        again = [
            max(1.0, float(n.sum()) / most) for n, most in zip((self.seen, self.wanted), self.distinct, strict=True)
        ]
        by_chance = (again[0] / seen + again[1] / wanted)[known].mean()
        beyond = (lift[known].square().mean() - CHANCE * by_chance).clamp_min(0).sqrt().nan_to_num()
        return between(float(beyond), UNEVEN) * (2 * agreement).clamp(-1, 1), lift

    def state_dict(self) -> dict[str, Tensor]:
        return {
            "seen": self.seen,
            "wanted": self.wanted,
            "gain": self.gain,
            "distinct": torch.tensor(self.distinct, dtype=torch.float64),
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.seen, self.wanted, self.gain = (state[name].clone() for name in ("seen", "wanted", "gain"))
        self.distinct = tuple(state["distinct"].tolist())
        self._lift = None


def correlation(a: Tensor, b: Tensor) -> Tensor:
    """Of two vectors, in [−1, 1]; 0 where one of them is constant."""
    if len(a) < 2:
        return torch.zeros((), device=a.device)
    a, b = a - a.mean(), b - b.mean()
    return (a @ b) / (a.norm() * b.norm()).clamp_min(1e-12)
