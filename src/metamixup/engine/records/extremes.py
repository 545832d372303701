"""The pairs of an epoch that were mixed the most and the least, for people to look at."""

import torch
from torch import Tensor

from metamixup import world
from metamixup.engine.records.blends import Blends

KEEP = 8


class Extremes:
    """(first, second, λ) of at most eight pairs each, by their positions in the training set."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.most, self.least = torch.zeros(2, 0, 3, dtype=torch.float64)

    def add(self, blends: Blends) -> None:
        rows = _rows(blends)
        self.most = _nearest(torch.cat([self.most, rows]), 0.0)
        self.least = _nearest(torch.cat([self.least, rows]), 0.5)

    def collect(self) -> None:
        """The pairs of all processes go to the one that leads."""
        most, least = _nearest(world.gathered(self.most), 0.0), _nearest(world.gathered(self.least), 0.5)
        self.reset()
        if world.leads():
            self.most, self.least = most, least

    def line(self) -> dict[str, list[list[float]]]:
        """For lambda.jsonl; nothing where all pairs are mixed as much, since then none stands out."""
        if not len(self.most) or float(_unmixed(self.least)[0] - _unmixed(self.most)[0]) < 1e-6:
            return {}
        return {name: _plain(getattr(self, name)) for name in ("most", "least")}

    def state_dict(self) -> dict[str, Tensor]:
        return {"most": self.most.clone(), "least": self.least.clone()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.most, self.least = state["most"].clone(), state["least"].clone()


def _rows(blends: Blends) -> Tensor:
    """(n, 3) of the pairs that are blends of two training images."""
    rows = torch.stack([blends.index.double(), blends.index[blends.partner].double(), blends.lam.double()], 1)
    return rows[(rows[:, 0] >= 0) & (rows[:, 1] >= 0) & (rows[:, 0] != rows[:, 1])]


def _nearest(rows: Tensor, amount: float) -> Tensor:
    """The rows whose |λ − ½| is nearest to `amount`, nearest first."""
    distance = (_unmixed(rows) - amount).abs()
    return rows[distance.argsort(stable=True)[:KEEP]]


def _unmixed(rows: Tensor) -> Tensor:
    """|λ − ½|: 0 for an even blend, ½ for one image alone."""
    return (rows[:, 2] - 0.5).abs()


def _plain(rows: Tensor) -> list[list[float]]:
    return [[int(i), int(j), round(lam, 5)] for i, j, lam in rows.tolist()]
