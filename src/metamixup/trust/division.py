"""From predictions to trust: which labels are right, and what the others should be.

A label is taken to be made in two steps. A sample has a true class c, of which the network's predictions say q_c; and
the label y is c or, by mistake, another class, with probability T[c, y]. T is learned from all training labels
(expectation–maximisation), so noise that prefers some pairs of classes is found as such. Then

    P(c | sample, label) ∝ q_c · T[c, y]

says both how likely the label is right (c = y) and what it should be otherwise. On clean labels T is the identity, and
every label is right. A class that the network predicts far less often than its label is given is not known yet, mostly
since it is rare: its labels stand.

q = softmax(running mean of log p / τ). Blended training makes a network less sure than it could be, and wrong labels
do too; τ makes up for it. It is the τ that explains clean labels best. Without any, it is the τ that, together with T,
explains the training labels best, but no larger than what clean training ends with: a network that has begun to learn
wrong labels by heart explains them too well.
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from metamixup.trust.losses import between

TYPICAL = 0.45  # τ of networks that are trained by MixUp on clean labels, and how far it may lie
UNSURE = 0.55
DOUBT = 2.0  # in log-likelihood: two values of τ that differ less explain clean labels alike
LAPSE = 0.05  # the share of 'clean' labels that may be wrong all the same
FEWEST = 10  # clean samples from which τ can be learned
NO_BETTER, HARD = 0.75, 0.02  # 'clean' labels that look wrong this much as often as all, and what hard samples add
LEAN = 100.0  # samples of each class by which T leans towards mistakes that are alike for all classes
FIRST_ROUNDS, ROUNDS = 40, 6  # of expectation–maximisation: from nothing, and from where it was
DIVIDES = (0.2, 0.6)  # the share of what there is to know about 'right or wrong': too little, enough
CLEARLY = (0.65, 0.8)  # the same: from and to which hard samples do not explain what looks wrong
KNOWN = (0.4, 0.7)  # predicted : given labels of a class that the network does not know yet, and of one that it knows
BEYOND_CHANCE = (0.04, 0.1)  # the share of labels that look wrong: of hard samples alone, surely of wrong ones too
HITS = (0.65, 0.85)  # of what is distrusted, the share that is really wrong: too little, enough
MOST = 10_000  # samples that a fit looks at
WATCHED = 3  # fits, over which the share of wrong labels must not fall
STEADY = (0.65, 0.8)  # share of wrong labels now : two fits ago. A network that still learns finds ever fewer of them
HAIR = 1e-6  # of a probability: nobody sees it, but it puts in order what is judged alike
LISTS = ("shares", "alone", "vouched")  # of the newest fits


@dataclass(frozen=True)
class Fit:
    """What explains a set of labels at one τ. confusion: (C, C) is T; known: (C,) how far the network knows each class,
    in [0, 1]; even: the share of wrong labels if mistakes were alike for all classes; likelihood: mean log-likelihood
    of a label; trust: (n,)."""

    tau: float
    confusion: Tensor
    known: Tensor
    even: float
    likelihood: float
    trust: Tensor

    @cached_property
    def share(self) -> float:
        return 1 - float(self.trust.mean())

    @cached_property
    def divides(self) -> float:
        """How far labels fall into right and wrong ones, with little between, in [0, 1]."""
        return float(self.trust.var(correction=0)) / max(self.share * (1 - self.share), 1e-9)


class Division:
    """Learned from all samples again and again as the network learns.

    Holds fit: the newest, or None before the first; likeliest: τ that explains the training labels best;
    most: the largest share of wrong labels that any fit found at that τ; shares: what the newest fits found at least;
    alone: what they found without clean labels, and vouched: whether there were any that tell; hits: of what is
    distrusted, the share that is really wrong, as far as clean labels tell: they are distrusted too.
    """

    def __init__(self) -> None:
        self.fit: Fit | None = None
        self.likeliest, self.most, self.hits = UNSURE, 0.0, 0.0
        self.shares: list[float] = []
        self.alone: list[float] = []
        self.vouched: list[bool] = []

    @property
    def share(self) -> float:
        """About how many of the labels are wrong."""
        return 0.0 if self.fit is None else self.fit.share

    @property
    def strength(self) -> float:
        """How far distrust may act, in [0, 1]: not where the division hardly divides, nor where what looks
        wrong is no more than hard samples do by themselves. Few clean labels leave much room for these; but samples
        that are hard are not far from right, so where all fall clearly into two kinds, all of the one are counted."""
        if self.fit is None:
            return 0.0
        least, clearly = self.shares[-1], between(self.fit.divides, CLEARLY)
        wrong = least + clearly * (self.share - least)
        return between(self.fit.divides, DIVIDES) * self._steady() * between(wrong, BEYOND_CHANCE)

    @property
    def precise(self) -> float:
        """Does distrust fall on wrong labels, in [0, 1]? Unless it does, it takes from the network what it has yet to
        learn."""
        return between(self.hits, HITS)

    @property
    def watched(self) -> bool:
        """Has there been enough to tell whether labels are wrong?"""
        return len(self.shares) == WATCHED

    def _steady(self) -> float:
        """Has the share of wrong labels come to rest? What a network does not know yet looks like wrong labels to it;
        but that share falls while it learns, and the share of labels that are really wrong does not."""
        if not self.watched:
            return 0.0
        alike = self.vouched[0] == self.vouched[-1]  # clean labels tell another share than the others alone
        before, *_, now = self.shares if alike else self.alone
        return between(now / max(before, 1e-9), STEADY)

    def learn(self, log_p: Tensor, labels: Tensor, clean: tuple[Tensor, Tensor] | None = None) -> None:
        """log_p: (N, C) running means; labels: (N,); clean: the same of samples that are known to be right."""
        part = slice(None, None, len(log_p) // MOST + 1)
        log_p, labels = log_p[part].double(), labels[part]
        self.fit = self._explain(log_p, labels, self._tau_without_clean(log_p, labels))
        alone = surely = self.fit.share
        vouched = clean is not None and len(clean[1]) >= FEWEST and self._vouched_for(*clean)
        if clean is not None and vouched:
            best, largest = tau_of_clean(clean[0].double(), clean[1])
            surely = self._explain(log_p, labels, largest).share
            self.fit = self._explain(log_p, labels, best)
            # One more is counted as distrusted than are: a handful may all be trusted by chance.
            n = len(clean[1])
            self.hits = 1 - (n * self._distrust(*clean) + 1) / (n + 1) / max(self.share, 1e-9)
        self.shares = [*self.shares, surely][-WATCHED:]
        self.alone, self.vouched = [*self.alone, alone][-WATCHED:], [*self.vouched, vouched][-WATCHED:]

    def _tau_without_clean(self, log_p: Tensor, labels: Tensor) -> float:
        tried = [self.likeliest / 1.12, self.likeliest, self.likeliest * 1.12]
        if self.fit is None:  # one long fit, from which the others start
            self.fit, tried = self._explain(log_p, labels, UNSURE), [0.2, 0.3, 0.4, 0.5, 0.6, 0.8]
        best = max((self._explain(log_p, labels, tau) for tau in tried), key=lambda fit: fit.likelihood)
        self.likeliest, self.most = min(max(best.tau, 0.1), 3.0), max(self.most, best.share)
        return max(0.1, min(best.tau, UNSURE * (1 - self.most)))

    def _vouched_for(self, log_p: Tensor, labels: Tensor) -> bool:
        """Are 'clean' labels surely better than the others? Some are drawn from them at random."""
        return self._distrust(log_p, labels) <= NO_BETTER * self.share + HARD

    def _distrust(self, log_p: Tensor, labels: Tensor) -> float:
        """The share of these labels that look wrong."""
        return 1 - float(self.posterior(log_p, labels).gather(1, labels[:, None]).mean())

    def _explain(self, log_p: Tensor, labels: Tensor, tau: float) -> Fit:
        rounds = FIRST_ROUNDS if self.fit is None else ROUNDS
        q = beliefs(log_p, tau)
        even = even_mistakes(q, labels, 0.2 if self.fit is None else self.fit.even, rounds)
        alike = evenly(even, q.shape[1], q)
        start = alike if self.fit is None else self.fit.confusion.to(q)
        confusion = learn_confusion(q, labels, start, alike, rounds)
        joint = q * confusion.T[labels]
        total = joint.sum(1)
        known = known_classes(q, labels)
        right = joint.gather(1, labels[:, None])[:, 0] / total
        return Fit(tau, confusion, known, even, float(total.log().mean()), 1 - known[labels] * (1 - right))

    def posterior(self, log_p: Tensor, labels: Tensor) -> Tensor:
        """P(true class | sample, label), (n, C) in float32; labels of classes that are not known yet stand. log_p:
        (n, C); labels: (n,)."""
        return self._standing(self._judged(log_p, labels), labels).float()

    def judged(self, log_p: Tensor, labels: Tensor) -> Tensor:
        """The same of all classes alike, in doubles: for people who decide for themselves. A judgement is bounded, so
        labels of which the network is sure would all be alike: a hair of what it said orders them."""
        return self._judged(log_p, labels).lerp(log_p.double().softmax(1), HAIR)

    def ranked(self, log_p: Tensor, labels: Tensor) -> Tensor:
        """`posterior` in doubles, ordered as `judged` is: for lists of labels that look wrong."""
        return self._standing(self.judged(log_p, labels), labels)

    def _judged(self, log_p: Tensor, labels: Tensor) -> Tensor:
        assert self.fit is not None
        joint = beliefs(log_p.double(), self.fit.tau) * self.fit.confusion.to(log_p.device).T[labels]
        return joint / joint.sum(1, keepdim=True)

    def _standing(self, judged: Tensor, labels: Tensor) -> Tensor:
        """Labels of classes that are not known yet stand."""
        assert self.fit is not None
        given = one_hot(labels, judged.shape[1]).to(judged)
        return torch.lerp(given, judged, self.fit.known.to(judged)[labels, None])

    def state_dict(self) -> dict[str, Any]:
        return {
            "fit": {} if self.fit is None else {part.name: getattr(self.fit, part.name) for part in fields(self.fit)},
            "likeliest": self.likeliest,
            "most": self.most,
            "hits": self.hits,
            **{name: torch.tensor(getattr(self, name), dtype=torch.float64) for name in LISTS},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.fit = Fit(**state["fit"]) if state["fit"] else None
        self.likeliest, self.most, self.hits = (float(state[name]) for name in ("likeliest", "most", "hits"))
        self.shares, self.alone, self.vouched = (state[name].tolist() for name in LISTS)


def beliefs(log_p: Tensor, tau: float) -> Tensor:
    """q, (n, C): no class is ruled out."""
    q = (log_p / tau).softmax(1).clamp_min(1e-4)
    return q / q.sum(1, keepdim=True)


def tau_of_clean(log_p: Tensor, labels: Tensor) -> tuple[float, float]:
    """The τ that explains labels best of which few are wrong, and the largest that explains them about as well: with it
    predictions are believed less. log_p: (M, C); labels: (M,)."""
    explained = {}
    for tau in torch.logspace(-1, 0.3, 30).tolist():
        q = (log_p / tau).softmax(1).gather(1, labels[:, None])[:, 0]
        likelihood = ((1 - LAPSE) * q + LAPSE / log_p.shape[1]).log().sum()
        explained[tau] = float(likelihood) - 2 * math.log(tau / TYPICAL) ** 2
    best = max(explained, key=explained.__getitem__)
    return best, max(tau for tau, value in explained.items() if value >= explained[best] - DOUBT)


def even_mistakes(q: Tensor, labels: Tensor, share: float, rounds: int) -> float:
    """The share of wrong labels, if every class is mistaken for every other alike. q: (n, C); labels: (n,)."""
    own = q.gather(1, labels[:, None])[:, 0]
    for _ in range(rounds):
        wrong = share * (1 - own) / max(q.shape[1] - 1, 1)
        share = float((wrong / (wrong + (1 - share) * own)).mean().clamp(1e-4, 0.8))
    return share


def learn_confusion(q: Tensor, labels: Tensor, start: Tensor, alike: Tensor, rounds: int) -> Tensor:
    """T by expectation–maximisation from `start`, leaning towards `alike`; all (C, C). q: (n, C); labels: (n,)."""
    confusion, given = start, one_hot(labels, q.shape[1]).to(q)
    for _ in range(rounds):
        joint = q * confusion.T[labels]
        counts = (joint / joint.sum(1, keepdim=True)).T @ given + LEAN * alike
        confusion = counts / counts.sum(1, keepdim=True)
    return confusion


def known_classes(q: Tensor, labels: Tensor) -> Tensor:
    """(C,) how far the network knows each class, in [0, 1]. It takes one that it has not learned yet, for it is rare,
    for others, and all its labels for wrong ones. q: (n, C); labels: (n,)."""
    given = torch.bincount(labels, minlength=q.shape[1]).clamp_min(1)
    low, high = KNOWN
    return ((q.sum(0) / given - low) / (high - low)).clamp(0, 1)


def evenly(share: float, classes: int, like: Tensor) -> Tensor:
    """(C, C) with 1 − share on its diagonal and the rest alike."""
    others = share / max(classes - 1, 1)
    return torch.full((classes, classes), others, dtype=like.dtype, device=like.device).fill_diagonal_(1 - share)
