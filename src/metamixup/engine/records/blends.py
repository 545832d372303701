"""What the steps blended: several joined as if they were one (small tensors cost more to handle than to hold), and the
pairs of an epoch that were mixed the most and the least, for people to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from metamixup import world
from metamixup.engine.step import StepResult
from metamixup.mixing import Mixture
from metamixup.mixing.regions import Regions

KEEP = 8
COLUMNS = 3 + 4  # of a pair that is kept: first, second, λ, and its box


@dataclass(frozen=True)
class Blends:
    """lam, partner: (n,), partner a position in these; labels: (n, C); index: (n,) positions in the training set, −1
    for unlabelled images and for what is no plain blend; box: (n, 4) of blends by regions, empty ones of others."""

    lam: Tensor
    partner: Tensor
    labels: Tensor
    index: Tensor
    box: Tensor


def joined(steps: Sequence[StepResult]) -> Blends:
    starts = [0]
    for result in steps:
        starts.append(starts[-1] + len(result.pairs.labels))
    return Blends(
        torch.cat([result.mixture.lam.detach() for result in steps]).cpu(),
        torch.cat([result.mixture.partner + start for result, start in zip(steps, starts, strict=False)]).cpu(),
        torch.cat([result.pairs.labels for result in steps]).cpu(),
        torch.cat([_index(result) for result in steps]).cpu(),
        torch.cat([_box(result.mixture) for result in steps]).cpu(),
    )


def _index(result: StepResult) -> Tensor:
    index = result.pairs.index
    if index is None or type(result.mixture) not in (Mixture, Regions):
        return torch.full_like(result.mixture.partner, -1)
    return index


def _box(mixture: Mixture) -> Tensor:
    """(n, 4) as shares of height and width: images may grow while they are trained on."""
    if not isinstance(mixture, Regions):
        return mixture.lam.new_zeros(len(mixture.lam), 4)
    return mixture.box / mixture.box.new_tensor([*mixture.image_size, *mixture.image_size])


class Extremes:
    """(first, second, λ, box) of at most eight pairs each, by their positions in the training set."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.most, self.least = torch.zeros(2, 0, COLUMNS, dtype=torch.float64)

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
    """(n, 7) of the pairs that are blends of two training images."""
    pairs = torch.stack([blends.index.double(), blends.index[blends.partner].double(), blends.lam.double()], 1)
    rows = torch.cat([pairs, blends.box.double()], 1)
    return rows[(rows[:, 0] >= 0) & (rows[:, 1] >= 0) & (rows[:, 0] != rows[:, 1])]


def _nearest(rows: Tensor, amount: float) -> Tensor:
    """The rows whose |λ − ½| is nearest to `amount`, nearest first. Of equally near ones those of the lowest positions:
    what is kept must not depend on when processes collected it, which a clock decides."""
    distance = (_unmixed(rows) - amount).abs()
    if len(rows) > KEEP:
        near = distance <= distance.kthvalue(KEEP).values
        rows, distance = rows[near], distance[near]
    sorted_by = [*rows.unbind(1)[::-1], distance]  # the last decides first
    order = torch.arange(len(rows))
    for values in sorted_by:
        order = order[values[order].argsort(stable=True)]
    return rows[order[:KEEP]]


def _unmixed(rows: Tensor) -> Tensor:
    """|λ − ½|: 0 for an even blend, ½ for one image alone."""
    return (rows[:, 2] - 0.5).abs()


def _plain(rows: Tensor) -> list[list[float]]:
    """The box only where there is one."""
    return [
        [int(i), int(j), round(lam, 5), *([round(end, 5) for end in box] if any(box) else [])]
        for i, j, lam, *box in rows.tolist()
    ]
