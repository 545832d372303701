"""Blends of samples (Eq. 1 of the paper). Pure: nothing is drawn, moved or changed in place."""

from dataclasses import dataclass, replace

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

    partner: (B,) or fewer, the second sample of each pair, as a position in the batch;
    labels: (B, C) the soft labels of the batch; index: (B,) each sample's position in the training set, and
    meta_index: (M,) each meta image's in the meta set, for policies that remember them.
    """

    partner: Tensor
    labels: Tensor
    index: Tensor | None = None
    meta_index: Tensor | None = None

    def first(self, n: int) -> "Pairs":
        """The pairs of the first n samples; their partners may lie anywhere, so all labels stay."""
        return replace(self, partner=self.partner[:n], index=None if self.index is None else self.index[:n])


@dataclass(frozen=True)
class Mixture:
    """How a batch is blended: sample i with its partner, λ_i of the first. lam, partner: (n,), for its first n."""

    lam: Tensor
    partner: Tensor

    def inputs(self, x: Tensor) -> Tensor:
        return mix(x[: len(self.partner)], x[self.partner], self.lam)

    def labels(self, y: Tensor) -> Tensor:
        return mix(y[: len(self.partner)], y[self.partner], self.lam)


def draw_partners(sizes: list[int], generator: torch.Generator) -> Tensor:
    """One permutation for each block of the batch, so that blocks (labelled, unlabelled) keep to themselves."""
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return torch.cat([start + torch.randperm(n, generator=generator) for start, n in zip(starts, sizes, strict=True)])
