"""How much better does the network know what it is trained on than what waits?

    gap = ln (L_waiting + ε) / (L_trained + ε)

of running, unblended losses. Each sample that waits is compared with trained ones of its own label: both kinds have the
same labels, right or wrong, common or rare, so the gap is of the network alone.
"""

import math
from typing import Any

import torch

from metamixup.trust.losses import DEVIATIONS, Losses, LossSums, mean

EPSILON = 0.02  # a loss below this is none: the ratio of two that are tiny says nothing
ANY_LABEL = 5.0  # losses by which the mean of one label leans towards the mean of all
NUMBERS = ("heard", "lowest", "widest")


class Gap:
    """Holds heard: losses of waiting samples so far; lowest: the gap where it began below zero, since those who wait
    are easier by chance; widest: the widest so far, counted from there; trained: sums of losses by label; waiting: (4,)
    sums of losses, of how hard their labels are (the mean loss of trained samples with that label; that of all is 1),
    their count, and squares of losses."""

    def __init__(self) -> None:
        self.heard, self.lowest, self.widest = 0, 0.0, 0.0
        self.trained, self.waiting = LossSums(), torch.zeros(4, dtype=torch.float64)

    def learn(self, trained: Losses, waiting: Losses, fade: float) -> None:
        """fade: what is left of the sums so far."""
        self.trained.add(trained, fade)
        losses, labels = waiting
        (sums, count), overall = self.trained.sums[labels].unbind(1), self.trained.mean
        relative = (sums / max(overall, 1e-12) + ANY_LABEL) / (count + ANY_LABEL)
        news = torch.stack([losses, relative, torch.ones_like(losses), losses.square()])
        self.waiting = fade * self.waiting + news.sum(1)
        self.heard += len(losses)

    def note_widest(self) -> None:
        """Once enough was heard."""
        self.lowest = min(self.lowest, self.value)
        self.widest = max(self.widest, self.value - self.lowest)

    @property
    def value(self) -> float:
        waiting, trained = self.losses
        return math.log((waiting + EPSILON) / (trained + EPSILON))

    @property
    def at_least(self) -> float:
        """The gap, with DEVIATIONS standard errors of those who wait taken off."""
        (own, trained), (_, _, count, squares) = self.losses, self.waiting
        by_chance = math.sqrt(max(0.0, mean(squares, count) - own**2) / max(float(count), 1.0))
        return math.log((max(0.0, own - DEVIATIONS * by_chance) + EPSILON) / (trained + EPSILON))

    @property
    def losses(self) -> tuple[float, float]:
        """Of samples that wait, and of trained ones with the same labels."""
        own, relative, count, _ = self.waiting
        return mean(own, count), self.trained.mean * (mean(relative, count) or 1.0)

    def state_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return {"trained": self.trained.sums.clone(), "waiting": self.waiting.clone(), **numbers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.trained.sums, self.waiting = state["trained"].clone(), state["waiting"].clone()
        for name in NUMBERS:
            setattr(self, name, type(getattr(self, name))(state[name]))
