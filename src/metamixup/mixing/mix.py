"""Blends of samples (Eq. 1 of the paper). Pure: nothing is drawn, moved or changed in place."""

from dataclasses import dataclass

import torch
from torch import Tensor


def mix(a: Tensor, b: Tensor, lam: Tensor | float) -> Tensor:
    """λ·a + (1−λ)·b: λ weights the *first* argument, as in the paper.

    a, b: (B, …) floating tensors of any rank; lam: a number, a scalar tensor, or one λ a sample, (B,).
    """
    if not (a.is_floating_point() and b.is_floating_point()):
        raise TypeError(f"mix blends floating tensors, not {a.dtype}; class indices become rows by soft_labels()")
    if not isinstance(lam, Tensor):
        return torch.lerp(b, a, lam)
    return torch.lerp(b, a, lam.to(a.dtype).reshape(-1, *[1] * (a.ndim - 1)))


@dataclass(frozen=True)
class Pairs:
    """Who is blended with whom, drawn once a step and used again after λ is refined.

    partner: (B,) the second sample of each pair, as a position in the batch;
    labels: (B, C) the soft labels of the batch; index: (B,) each sample's position in the training set, and
    meta_index: (M,) each meta image's in the meta set, for policies that remember them.
    """

    partner: Tensor
    labels: Tensor
    index: Tensor | None = None
    meta_index: Tensor | None = None


@dataclass(frozen=True)
class Mixture:
    """How a batch is blended: sample i with its partner, λ_i of the first. lam, partner: (B,)."""

    lam: Tensor
    partner: Tensor

    def inputs(self, x: Tensor) -> Tensor:
        return mix(x, x[self.partner], self.lam)

    def labels(self, y: Tensor) -> Tensor:
        return mix(y, y[self.partner], self.lam)


def draw_partners(sizes: list[int], generator: torch.Generator) -> Tensor:
    """One permutation for each block of the batch, so that blocks (labelled, unlabelled) keep to themselves."""
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return torch.cat([start + torch.randperm(n, generator=generator) for start, n in zip(starts, sizes, strict=True)])
