"""What several steps blended, joined as if they were one step: small tensors cost more to handle than to hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from metamixup.engine.step import Done
from metamixup.mixing import Mixture


@dataclass(frozen=True)
class Blends:
    """lam, partner: (n,), partner a position in these; labels: (n, C); index: (n,) positions in the training set, −1
    for unlabelled images and for what is no plain blend (boxes)."""

    lam: Tensor
    partner: Tensor
    labels: Tensor
    index: Tensor


def joined(steps: Sequence[Done]) -> Blends:
    starts = [0]
    for done in steps:
        starts.append(starts[-1] + len(done.pairs.labels))
    return Blends(
        torch.cat([done.mixture.lam.detach() for done in steps]).cpu(),
        torch.cat([done.mixture.partner + start for done, start in zip(steps, starts, strict=False)]).cpu(),
        torch.cat([done.pairs.labels for done in steps]).cpu(),
        torch.cat([_index(done) for done in steps]).cpu(),
    )


def _index(done: Done) -> Tensor:
    index = done.pairs.index
    if index is None or type(done.mixture) is not Mixture:
        return torch.full_like(done.mixture.partner, -1)
    return (
        index
        if len(index) <= done.images
        else torch.cat([index[: done.images], -torch.ones_like(index[done.images :])])
    )
