"""What explains the given labels: how far to believe the networks and the neighbours, and which mistakes were made.

q ∝ p^(1/τ) · votes^γ: what the network says, and what the labels of the nearest samples say. τ and γ are those that
explain the labels well; since no sample's own label played a part in p and votes, this cannot be had by heart.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from metamixup.audit.cross_validation import Predictions
from metamixup.audit.mistakes import SortedLabels, label_likelihoods, learn_confusions
from metamixup.seeding import derived_generator

TAUS, GAMMAS = (0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4, 2.0), (0.0, 0.3, 0.6, 1.0, 1.5)
Powers = tuple[int, int]  # of p and of the votes: a position in TAUS and one in GAMMAS
MIDDLE = (4, 2)
LEANS = (3.0, 10.0, 30.0, 100.0, 300.0)  # samples of each class by which T leans towards mistakes that are alike
NEGLIGIBLE = 4.6  # in log-likelihood: a hundredth of the best
LEAST = 1e-4  # no class is ruled out


@dataclass(frozen=True)
class Evidence:
    """Samples in the order of their labels. log_p, log_votes: (C, n)."""

    log_p: Tensor
    log_votes: Tensor
    given: SortedLabels

    def beliefs(self, tried: Sequence[Powers]) -> Tensor:
        """q, (B, C, n)."""
        sharp = torch.tensor([1 / TAUS[tau] for tau, _ in tried])[:, None, None]
        heard = torch.tensor([GAMMAS[gamma] for _, gamma in tried])[:, None, None]
        q = (sharp * self.log_p + heard * self.log_votes).softmax(1).clamp_min_(LEAST)
        return q.div_(q.sum(1, keepdim=True))


@dataclass(frozen=True)
class Explanation:
    """confusion: (C, C) is T; likelihood: log P(all labels)."""

    powers: Powers
    confusion: Tensor
    likelihood: float


def gathered(found: Predictions, labels: Tensor, index: Tensor) -> Evidence:
    """Of the samples at these positions, which are in the order of their labels; labels: (N,) of all."""
    log_p, votes = (part[index].float().T.contiguous() for part in (found.log_p, found.votes))
    return Evidence(log_p, votes.log_(), SortedLabels(labels[index], len(log_p), torch.ones(1, len(index))))


def search(known: Evidence, lean: float) -> list[Explanation]:
    """All τ and γ but those that explain the labels far worse than the best. Their likelihood has one peak: the search
    goes uphill from the middle, and ends where all around the top is far below it."""
    tried: dict[Powers, Explanation] = {}
    waiting = _around(MIDDLE)
    while waiting:
        tried |= {one.powers: one for one in explained(known, sorted(waiting), lean)}
        waiting = {near for one in _near_the_best(tried.values()) for near in _around(one.powers)} - tried.keys()
    return _near_the_best(tried.values())


def explained(known: Evidence, tried: Sequence[Powers], lean: float) -> list[Explanation]:
    q = known.beliefs(tried)
    confusions = learn_confusions(q, known.given, torch.full((len(tried),), lean))
    likelihoods = label_likelihoods(q, known.given, confusions).sum(1).tolist()
    return [Explanation(*one) for one in zip(tried, confusions, likelihoods, strict=True)]


def weights(explanations: Sequence[Explanation]) -> Tensor:
    """(B,) by their likelihoods."""
    return torch.tensor([one.likelihood for one in explanations], dtype=torch.float64).softmax(0)


def fitting_lean(known: Evidence, seed: int) -> float:
    """The one whose T, learned from half of the labels, explains the other half best."""
    q, count = known.beliefs([MIDDLE])[0], len(known.given.labels)
    first = torch.randperm(count, generator=derived_generator(seed, "halves")) % 2
    halves = torch.stack([first, 1 - first]).float().repeat(len(LEANS), 1)
    given, leans = replace(known.given, weights=halves), torch.tensor(LEANS).repeat_interleave(2)
    others = ((1 - halves) * label_likelihoods(q, given, learn_confusions(q, given, leans))).sum(1)
    return LEANS[int(others.view(-1, 2).sum(1).argmax())]


def likeliest(explanations: Iterable[Explanation]) -> Explanation:
    return max(explanations, key=lambda one: one.likelihood)


def _near_the_best(tried: Collection[Explanation]) -> list[Explanation]:
    best = likeliest(tried).likelihood
    return [one for one in tried if one.likelihood > best - NEGLIGIBLE]


def _around(powers: Powers) -> set[Powers]:
    """The nearest values of both."""
    steps = product((-1, 0, 1), repeat=2)
    near = {(powers[0] + tau, powers[1] + gamma) for tau, gamma in steps}
    return near & set(product(range(len(TAUS)), range(len(GAMMAS))))
