"""Blends of samples (Eq. 1 of the paper). Pure: nothing is drawn, moved or changed in place."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from metamixup import world


def mix(a: Tensor, b: Tensor, lam: Tensor | float) -> Tensor:
    """λ·a + (1−λ)·b: λ weights the *first* argument, as in the paper. What is not blended stays itself, even beside
    a NaN.

    a, b: (B, …) floating tensors of any rank; lam: a number, a scalar tensor, or one λ a sample, (B,).
    """
    if not (a.is_floating_point() and b.is_floating_point()):
        raise TypeError(f"mix blends floating tensors, not {a.dtype}; class indices become rows by soft_labels()")
    if not isinstance(lam, Tensor):
        return torch.lerp(b, a, lam)
    lam = lam.to(a.dtype).reshape(-1, *[1] * (a.ndim - 1))
    blend = torch.lerp(b, a, lam)
    if lam.requires_grad or surely_finite(blend):  # ∇λ hangs on both samples
        return blend
    return torch.where(lam == 1, a, torch.where(lam == 0, b, blend))


def surely_finite(x: Tensor) -> bool:
    """Is there neither a NaN nor an infinity? A sum on the processor is an eighth of the cost of a blend; on another
    device the answer would be waited for, so it is no."""
    return x.device.type == "cpu" and bool(x.detach().sum(dtype=torch.promote_types(x.dtype, torch.float32)).isfinite())


@dataclass(frozen=True)
class Pairs:
    """Who is blended with whom, drawn once a step and used again after λ is refined.

    partner: (B,) or fewer, the second sample of each pair, as a position in the batch;
    labels: (B, C) the soft labels of the batch; index: (B,) each sample's position in the training set, −1 where the
    label is a guess of the network's own, and meta_index: (M,) each meta image's in the meta set, for policies that
    remember them;
    meta_labels: (M, C) the soft labels of the meta batch, in steps that learn from one;
    positions: (B,) each pair's position in the whole step, where several processes share it;
    labelled: how many samples, the first ones, have labels that were given; None: all, so that none is guessed;
    folded: does the method use max(λ, 1 − λ), so that a blend stays nearer to its first sample?
    image_size: height and width of what is blended, where that is images; None: anything else.
    """

    partner: Tensor
    labels: Tensor
    index: Tensor | None = None
    meta_index: Tensor | None = None
    meta_labels: Tensor | None = None
    positions: Tensor | None = None
    labelled: int | None = None
    folded: bool = False
    image_size: tuple[int, int] | None = None

    def drawn(self, sample: Callable[[int], Tensor]) -> Tensor:
        """`sample(n)` gives something for each of n pairs, (…, n): drawn for the whole step, of which these pairs keep
        theirs, so that all processes draw alike."""
        if self.positions is None:
            return sample(len(self.partner))
        return sample(len(self.partner) * world.size())[..., self.positions]

    def beside(self, meta_labels: Tensor, meta_index: Tensor | None) -> "Pairs":
        """The same pairs in a step that learns from this meta batch. meta_labels: (M, C); meta_index: (M,)."""
        return replace(self, meta_labels=meta_labels, meta_index=meta_index)

    def of(self, rows: Tensor) -> "Pairs":
        """What is known of these samples alone. Their partners need not be among them, so they are not to be blended.
        rows: (n,) positions in the batch."""
        index = None if self.index is None else self.index[rows]
        return replace(self, partner=self.partner[rows], labels=self.labels[rows], index=index, positions=None)

    def first(self, n: int) -> "Pairs":
        """The pairs of the first n samples; their partners may lie anywhere, so all labels stay."""
        index, positions = (None if rows is None else rows[:n] for rows in (self.index, self.positions))
        return replace(self, partner=self.partner[:n], index=index, positions=positions)


@dataclass(frozen=True)
class Mixture:
    """How a batch is blended: sample i with its partner, λ_i of the first.

    lam, partner: (n,), for the first n samples of a batch;
    own_labels: (B, C) soft labels that stand in for the given ones, where a stage knows better; None: as given;
    picked: is it just some samples of the batch, the partners, as they are?
    """

    lam: Tensor
    partner: Tensor
    own_labels: Tensor | None = field(default=None, kw_only=True)
    picked: bool = field(default=False, kw_only=True)

    @classmethod
    def unblended(cls, like: Tensor) -> "Mixture":
        """Every sample as it is. like: (n,), whose type and device λ has."""
        return cls(torch.ones_like(like), torch.arange(len(like), device=like.device))

    @classmethod
    def alone(cls, rows: Tensor, like: Tensor) -> "Mixture":
        """These samples of the batch as they are. rows: (n,) positions; like: (B,), whose type and device λ has."""
        return cls(torch.zeros_like(like[: len(rows)]), rows, picked=True)

    def inputs(self, x: Tensor) -> Tensor:
        return mix(x[: len(self.partner)], x[self.partner], self.lam)

    def labels(self, y: Tensor) -> Tensor:
        """The targets of the blended batch: every target is made here. y: (B, …) the given labels."""
        y = y if self.own_labels is None else self.own_labels.to(y.dtype)
        return mix(y[: len(self.partner)], y[self.partner], self.lam)

    def with_gradient(self) -> Self:
        """The same blend, with λ as a leaf that gradients reach."""
        return replace(self, lam=self.lam.detach().requires_grad_())


def draw_partners(sizes: list[int], generator: torch.Generator, parts: int = 1) -> Tensor:
    """One permutation for each block of the batch, so that blocks (labelled, unlabelled) keep to themselves; and so do
    the `parts` of each block, as they do where every part is a process of its own."""
    sizes = [n // parts for n in sizes for _ in range(parts)]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return torch.cat([start + torch.randperm(n, generator=generator) for start, n in zip(starts, sizes, strict=True)])


def own_partners(sizes: list[int], generator: torch.Generator) -> Tensor:
    """Partners for this process's share of the batch, whose blocks have these sizes."""
    own = world.global_positions(sizes)
    if own is None:
        return draw_partners(sizes, generator)
    whole = draw_partners([n * world.size() for n in sizes], generator, parts=world.size())
    position = torch.empty_like(whole)
    position[own] = torch.arange(len(own))
    return position[whole[own]]


def image_size(x: Tensor) -> tuple[int, int] | None:
    """Height and width of a batch of images, (B, channels, H, W); None of anything else."""
    return (x.shape[2], x.shape[3]) if x.ndim == 4 else None
