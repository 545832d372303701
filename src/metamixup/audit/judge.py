"""From predictions to P(the label is wrong).

The model of mistakes is that of trust/division.py: P(c | sample, label y) ∝ q_c · T[c, y], where T, how often class c
is mistaken for y, is learned from all labels.

q ∝ p^(1/τ) · votes^γ: what the network says, and what the labels of the nearest samples say. τ and γ are those that
explain the labels best; since no sample's own label played a part in p and votes, this cannot be had by heart.
"""

import math
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from metamixup.audit.cross_validation import Predictions
from metamixup.seeding import derived_generator
from metamixup.trust.division import even_mistakes, evenly, learn_confusion

TAUS, GAMMAS = (0.3, 0.4, 0.5, 0.6, 0.75, 1.0), (0.0, 0.3, 0.6, 1.0, 1.5)
SEARCHED = 8000  # samples that the search for τ and γ looks at
RESAMPLED = 40
LEAST = 1e-4  # no class is ruled out


@dataclass(frozen=True)
class Judgement:
    """truth: (N, C) P(true class | sample, label); confusion: (C, C) is T; likelihood: mean log-likelihood of a label;
    low, high: the 95 % interval of the share of wrong labels."""

    truth: Tensor
    wrong: Tensor
    confusion: Tensor
    likelihood: float
    low: float = 0.0
    high: float = 1.0

    @property
    def share(self) -> float:
        return float(self.wrong.mean())

    def likely(self, labels: Tensor) -> Tensor:
        """(N,) the likeliest class beside the given one."""
        return self.truth.scatter(1, labels[:, None], -1).argmax(1)


def judge(found: Predictions, labels: Tensor, seed: int = 0) -> Judgement:
    """labels: (N,) as given."""
    some = torch.randperm(len(labels), generator=derived_generator(seed, "judge"))[:SEARCHED]
    tried = [(explain(beliefs(found, *how)[some], labels[some], 10).likelihood, how) for how in product(TAUS, GAMMAS)]
    q = beliefs(found, *max(tried)[1])
    best = explain(q, labels, 60)
    low, high = interval(q, labels, best, seed)
    return replace(best, low=low, high=high)


def beliefs(found: Predictions, tau: float, gamma: float) -> Tensor:
    """q, (N, C) in float64."""
    q = (found.log_p.double() / tau + gamma * found.votes.double().log()).softmax(1).clamp_min(LEAST)
    return q / q.sum(1, keepdim=True)


def explain(q: Tensor, labels: Tensor, rounds: int, confusion: Tensor | None = None) -> Judgement:
    """T that explains the labels best; it starts from `confusion`, or from mistakes that are alike for all classes."""
    alike = evenly(even_mistakes(q, labels, 0.2, 40), q.shape[1], q)
    confusion = learn_confusion(q, labels, alike if confusion is None else confusion, alike, rounds)
    joint = q * confusion.T[labels]
    total = joint.sum(1, keepdim=True)
    truth = joint / total
    wrong = 1 - truth.gather(1, labels[:, None])[:, 0]
    return Judgement(truth, wrong, confusion, float(total.log().mean()))


def interval(q: Tensor, labels: Tensor, best: Judgement, seed: int) -> tuple[float, float]:
    """Of the share: T from samples drawn anew again and again, and chance in each label beside it."""
    random, count = derived_generator(seed, "interval"), len(labels)
    shares = []
    for _ in range(RESAMPLED):
        drawn = torch.randint(count, (min(count, SEARCHED),), generator=random)
        shares.append(explain(q[drawn], labels[drawn], 4, best.confusion).share)
    spread = float(torch.tensor(shares).var()) * min(count, SEARCHED) / count
    chance = float((best.wrong * (1 - best.wrong)).mean()) / count
    half = 1.96 * math.sqrt(spread + chance)
    return max(0.0, best.share - half), min(1.0, best.share + half)
