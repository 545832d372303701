"""What the steps blended: several joined as if they were one (small tensors cost more to handle than to hold), and the
pairs of an epoch that were mixed the most and the least, for people to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from metamixup import world
from metamixup.engine.step import StepResult
from metamixup.mixing import Mixture

KEEP = 8


@dataclass(frozen=True)
class Blends:
    """lam, partner: (n,), partner a position in these; labels: (n, C); index: (n,) positions in the training set, −1
    for unlabelled images and for what is no plain blend (boxes)."""

    lam: Tensor
    partner: Tensor
    labels: Tensor
    index: Tensor


def joined(steps: Sequence[StepResult]) -> Blends:
    starts = [0]
    for result in steps:
        starts.append(starts[-1] + len(result.pairs.labels))
    return Blends(
        torch.cat([result.mixture.lam.detach() for result in steps]).cpu(),
        torch.cat([result.mixture.partner + start for result, start in zip(steps, starts, strict=False)]).cpu(),
        torch.cat([result.pairs.labels for result in steps]).cpu(),
        torch.cat([_index(result) for result in steps]).cpu(),
    )


def _index(result: StepResult) -> Tensor:
    index = result.pairs.index
    if index is None or type(result.mixture) is not Mixture:
        return torch.full_like(result.mixture.partner, -1)
    return index


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
    """The rows whose |λ − ½| is nearest to `amount`, nearest first. Of equally near ones those of the lowest positions:
    what is kept must not depend on when processes collected it, which a clock decides."""
    for column in (2, 1, 0):
        rows = rows[rows[:, column].argsort(stable=True)]
    distance = (_unmixed(rows) - amount).abs()
    return rows[distance.argsort(stable=True)[:KEEP]]


def _unmixed(rows: Tensor) -> Tensor:
    """|λ − ½|: 0 for an even blend, ½ for one image alone."""
    return (rows[:, 2] - 0.5).abs()


def _plain(rows: Tensor) -> list[list[float]]:
    return [[int(i), int(j), round(lam, 5)] for i, j, lam in rows.tolist()]
