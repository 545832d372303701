"""The labelled and the unlabelled block of one batch, and averages over the samples that count."""

import torch
import torch.nn.functional as F
from torch import Tensor

from metamixup import world
from metamixup.methods.method import Batch
from metamixup.mixing import Mixture, Pairs, image_size


def joined(*parts: Tensor | None) -> Tensor:
    """Blocks one after the other. Methods need what `prepare` and the unlabelled stream give: None is a mistake."""
    if any(part is None for part in parts):
        raise ValueError("this method reads unlabelled samples and the guesses that prepare() makes for them")
    return torch.cat([part for part in parts if part is not None])


def block_pairs(batch: Batch, partner: Tensor, copies: int = 1) -> Pairs:
    """Partners for the labelled block and `copies` of the unlabelled one. partner: (B + copies·U,).

    Unlabelled samples have no position in the training set: those of a set of their own are numbered from 0 again.
    """
    labels, n = joined(batch.y, *[batch.guesses] * copies), len(batch.y)
    index = batch.index if batch.index is None else F.pad(batch.index, (0, len(labels) - n), value=-1)
    positions = world.global_positions([n, *[len(joined(batch.guesses))] * copies])
    partner, size = partner.to(labels.device), image_size(batch.x)
    return Pairs(partner, labels, index, positions=positions, labelled=n, image_size=size)


def counted(mask: Tensor, mixture: Mixture) -> Tensor:
    """(B,) 1 where every sample with a weight in the blend counts: both partners, or the only one if λ is 0 or 1."""
    first = torch.where(mixture.lam == 0, 1.0, mask)
    second = torch.where(mixture.lam == 1, 1.0, mask[mixture.partner])
    return first * second


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Masked samples count as zeros, so the divisor is the size of the block: on ranks with blocks of one size, the
    mean over the ranks is the mean over the whole batch."""
    return (values * mask).sum() / len(values)
