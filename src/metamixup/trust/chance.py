"""Does the network still know nothing?

One that is still at chance after two epochs has nothing to lose, and all pairs are blended until it knows something:
gradients of blends are smaller, and some networks leave chance by them that do not without. A deep one without
normalisation is fragile: its units may die of large gradients before it has learned anything. So all its pairs are
blended from the first step on until it has.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch

from metamixup.trust.losses import Losses, LossSums, between
from metamixup.trust.memory import WIDE

STUCK = (0.93, 0.98)  # the loss of what is shown, of guessing by the frequency of labels 1: it knows something, nothing
SAYS_LITTLE = 0.1  # where guessing's loss is below, there is hardly anything to know
SHOWN = 500  # losses that this is the running mean of
FIRST = 2  # epochs before a network may be taken for stuck


class Chance:
    """Holds stuck: is it at chance?, in [0, 1]; fragile: may it die there?; shown: sums of all losses that were looked
    at, by label."""

    def __init__(self) -> None:
        self.stuck, self.fragile, self.shown = 0.0, False, LossSums()

    def begin(self, fragile: bool) -> None:
        """Before the first step."""
        self.fragile, self.stuck = fragile, float(fragile)

    def learn(self, shown: Sequence[Losses], classes: int, past: float) -> None:
        """past: epochs so far."""
        losses, labels = (torch.cat(parts) for parts in zip(*shown, strict=True))
        self.shown.add((losses, labels), max(0.0, 1 - len(losses) / SHOWN))
        self.stuck = self._told(classes) if self.fragile or past >= FIRST else 0.0

    def _told(self, classes: int) -> float:
        guessing = self.guessing(classes)
        if guessing < SAYS_LITTLE:
            return float(self.fragile and not self.shown.sums.any())
        return between(self.shown.mean / guessing, STUCK)

    def guessing(self, classes: int) -> float:
        """The loss of whoever knows how frequent labels are, and no more."""
        counts = self.shown.sums[:, 1]
        frequency = counts / counts.sum().clamp_min(1e-12)
        return float(torch.special.entr(frequency).sum()) + math.log(max(1.0, classes / WIDE))

    def state_dict(self) -> dict[str, Any]:
        return {"stuck": self.stuck, "fragile": self.fragile, "shown": self.shown.sums.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stuck, self.fragile = float(state["stuck"]), bool(state["fragile"])
        self.shown.sums = state["shown"].clone()
