"""From predictions to P(the label is wrong).

The model of mistakes is that of trust/division.py: P(c | sample, label y) ∝ q_c · T[c, y], where T, how often class c
is mistaken for y, is learned from all labels.

q ∝ p^(1/τ) · votes^γ: what the network says, and what the labels of the nearest samples say. τ and γ are those that
explain the labels well; since no sample's own label played a part in p and votes, this cannot be had by heart.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from metamixup.audit.cross_validation import Predictions
from metamixup.seeding import derived_generator
from metamixup.trust.division import LEAN, even_mistakes, evenly, learn_confusion

TAUS, GAMMAS = (0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4, 2.0), (0.0, 0.3, 0.6, 1.0, 1.5)
MIDDLE = (0.55, 0.6)  # of both
LEANS = (3.0, 10.0, 30.0, 100.0, 300.0)  # samples of each class by which T leans towards mistakes that are alike
NEGLIGIBLE = 4.6  # in log-likelihood: a hundredth of the best
SEARCHED = 5000  # samples that the search for τ and γ looks at
RESAMPLED = 20
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
    """labels: (N,) as given. The mean over all τ and γ that explain the labels about as well, each by its likelihood:
    few samples hardly tell them apart, and the share of wrong labels differs between them."""
    some = torch.randperm(len(labels), generator=derived_generator(seed, "judge"))[:SEARCHED]
    lean, plausible = search(found.take(some), labels[some], seed)
    judged = [(weight, explain(beliefs(found, *how), labels, 60, lean)) for how, weight in plausible.items()]
    likeliest = max(plausible, key=plausible.__getitem__)
    low, high = interval(judged, beliefs(found, *likeliest), labels, lean, seed)
    return replace(mean(judged), low=low, high=high)


def search(found: Predictions, labels: Tensor, seed: int) -> tuple[float, dict[tuple[float, float], float]]:
    """How far T leans towards mistakes that are alike for all classes; and the weight of each τ and γ."""
    lean = fitting_lean(beliefs(found, *MIDDLE), labels, seed)
    explained = {
        how: explain(beliefs(found, *how), labels, 10, lean).likelihood * len(labels) for how in product(TAUS, GAMMAS)
    }
    best = max(explained.values())
    weights = {how: math.exp(value - best) for how, value in explained.items() if value > best - NEGLIGIBLE}
    return lean, {how: weight / sum(weights.values()) for how, weight in weights.items()}


def fitting_lean(q: Tensor, labels: Tensor, seed: int) -> float:
    """The one whose T, learned from half of the labels, explains the other half best."""
    order = torch.randperm(len(labels), generator=derived_generator(seed, "halves"))
    halves = order[::2], order[1::2]

    def explained(lean: float) -> float:
        told = 0.0
        for own, other in (halves, halves[::-1]):
            confusion = explain(q[own], labels[own], 15, lean).confusion
            told += float((q[other] * confusion.T[labels[other]]).sum(1).log().sum())
        return told

    return max(LEANS, key=explained)


def mean(judged: Sequence[tuple[float, Judgement]]) -> Judgement:
    """By their weights, whose sum is 1."""

    def of(name: str) -> Tensor:
        return torch.stack([weight * getattr(one, name) for weight, one in judged]).sum(0)

    return Judgement(of("truth"), of("wrong"), of("confusion"), max(one.likelihood for _, one in judged))


def beliefs(found: Predictions, tau: float, gamma: float) -> Tensor:
    """q, (N, C) in float64."""
    q = (found.log_p.double() / tau + gamma * found.votes.double().log()).softmax(1).clamp_min(LEAST)
    return q / q.sum(1, keepdim=True)


def explain(q: Tensor, labels: Tensor, rounds: int, lean: float, confusion: Tensor | None = None) -> Judgement:
    """T that explains the labels best; it starts from `confusion`, or from mistakes that are alike for all classes."""
    alike = evenly(even_mistakes(q, labels, 0.2, 40), q.shape[1], q)
    start = alike if confusion is None else confusion
    confusion = learn_confusion(q, labels, start, lean / LEAN * alike, rounds)
    joint = q * confusion.T[labels]
    total = joint.sum(1, keepdim=True)
    truth = joint / total
    wrong = 1 - truth.gather(1, labels[:, None])[:, 0]
    return Judgement(truth, wrong, confusion, float(total.log().mean()))


def interval(
    judged: Sequence[tuple[float, Judgement]], q: Tensor, labels: Tensor, lean: float, seed: int
) -> tuple[float, float]:
    """Of the share: what τ and γ leave open, T from samples drawn anew again and again, and chance in each label."""
    best, random, count = mean(judged), derived_generator(seed, "interval"), len(labels)
    drawn = [torch.randint(count, (min(count, SEARCHED),), generator=random) for _ in range(RESAMPLED)]
    shares = [explain(q[some], labels[some], 4, lean, best.confusion).share for some in drawn]
    spread = float(torch.tensor(shares).var()) * min(count, SEARCHED) / count
    unsure = sum(weight * (one.share - best.share) ** 2 for weight, one in judged)
    chance = float((best.wrong * (1 - best.wrong)).mean()) / count
    half = 1.96 * math.sqrt(spread + unsure + chance)
    return max(0.0, best.share - half), min(1.0, best.share + half)
