"""How often each class is mistaken for each other one, learned for many q at once.

The model is that of trust/division.py: P(c | sample, label y) ∝ q_c · T[c, y]. An audit fits it some fifty times to the
same labels, with other q or with other weights of the samples. That is fast because samples are sorted by their labels:
those of one label share a column of T, so a round of expectation–maximisation is two matrix products for each label.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

STEADY, ROUNDS = 5e-4, 60  # T is learned until no entry changes by more, in at most so many rounds
SHARES = (1e-4, 0.8)  # of wrong labels, the least and the largest
HALVINGS = 12  # of that range on a logarithmic scale: the share is then known to 0.2 % of itself


@dataclass(frozen=True)
class SortedLabels:
    """Of samples that are sorted by their labels. labels: (n,); classes: how many there are; weights: (B, n) or (1, n),
    how often each sample counts."""

    labels: Tensor
    classes: int
    weights: Tensor

    @cached_property
    def sizes(self) -> list[int]:
        """How many samples have each label."""
        return self.labels.bincount(minlength=self.classes).tolist()


def learn_confusions(q: Tensor, given: SortedLabels, lean: Tensor, start: Tensor | None = None) -> Tensor:
    """T, (B, C, C), from `start` or from mistakes that are alike for all classes.

    q: (C, n) or (B, C, n); lean: (B,), samples of each class by which T leans towards mistakes that are alike.
    """
    alike = evenly(even_mistakes(q, given).expand(len(lean)), given.classes)
    confusion = alike if start is None else start
    for _ in range(ROUNDS):
        counts = true_and_given(q, given, confusion) + lean[:, None, None] * alike
        before, confusion = confusion, counts / counts.sum(2, keepdim=True)
        if float((confusion - before).abs().max()) < STEADY:
            break
    return confusion


def true_and_given(q: Tensor, given: SortedLabels, confusion: Tensor) -> Tensor:
    """How many samples there are of each true class and label, (B, C, C), by what q and T say of them."""
    weights, parts = given.weights[:, None].split(given.sizes, 2), q.split(given.sizes, -1)
    totals = _expected(q, given, confusion)
    counts = [weight / total @ part.mT for weight, total, part in zip(weights, totals, parts, strict=True)]
    return confusion * torch.cat(counts, 1).mT


def label_likelihoods(q: Tensor, given: SortedLabels, confusion: Tensor) -> Tensor:
    """(B, n) log P(label | sample)."""
    return torch.cat(_expected(q, given, confusion), 2)[:, 0].double().log()


def _expected(q: Tensor, given: SortedLabels, confusion: Tensor) -> list[Tensor]:
    """P(label | sample), for each label (B, 1, n)."""
    columns = confusion.mT.contiguous().split(1, 1)
    return [column @ part for column, part in zip(columns, q.split(given.sizes, -1), strict=True)]


def even_mistakes(q: Tensor, given: SortedLabels) -> Tensor:
    """(B,) the share of wrong labels that explains them best if every class is mistaken for every other alike.

    Their likelihood, Σ log(own · (1 − share) + other · share), rises up to that share and then falls.
    """
    own = q.gather(-2, given.labels.expand(*q.shape[:-2], 1, -1)).squeeze(-2)
    other = (1 - own) / max(given.classes - 1, 1)
    ratio = own / (other - own)
    low, width = torch.tensor([[math.log(SHARES[0])]]), math.log(SHARES[1] / SHARES[0])
    for _ in range(HALVINGS):
        width /= 2
        slopes = given.weights / ((low + width).exp() + ratio)
        low = low + width * (slopes.sum(1, keepdim=True) > 0)
    return low[:, 0].exp()


def evenly(share: Tensor, classes: int) -> Tensor:
    """(B, C, C) with 1 − share on the diagonal and the rest alike; share: (B,)."""
    others = (share / max(classes - 1, 1))[:, None, None].expand(-1, classes, classes)
    return torch.where(torch.eye(classes, dtype=torch.bool), (1 - share)[:, None, None], others)
