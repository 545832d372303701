"""MixUp with a persistent trust in each sample's label, learned from the meta set: the product's own policy.

λ ~ Beta(α, α) as MixUp draws it, until the learning rate has fallen to half its peak; from there on fewer and fewer
pairs are blended, so that the network comes to rest on the images themselves. Every k-th step the meta set judges the
samples of the batch (`meta.evidence`); each sample keeps a running score, and its trust is how its score stands among
those of the clean meta images (`policy.calibration`). Trust then decides who is blended and which side counts: a
distrusted partner is replaced by a trusted one, the larger share goes to the side that is trusted more, and
λ_i : 1 − λ_i becomes λ_i·t_i : (1 − λ_i)·t_j. Where nothing is wrong all trust is 1: MixUp. Classes that the meta set
has more of are favoured in the same way (`policy.balance`) as the network comes to rest.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from metamixup import world
from metamixup.mixing import Mixture, Pairs
from metamixup.policy.beta import Beta
from metamixup.policy.policy import Policy
from metamixup.trust.balance import Balance
from metamixup.trust.calibration import Curve, calibrate

SUPPORT = 0.5  # weight of the network's own loss beside the meta-gradient, both in units of about one
WORST_LOSS = 8.0  # beyond this a loss says nothing more
RECALIBRATE = 8  # refinements between two calibrations
FEWEST = 20  # scores of clean images before trust is drawn from them
MOST = 20_000  # scores that a calibration looks at
RECENT = 2048  # scores kept where samples come without an index
PARTS = ("samples", "clean", "balance")  # of a policy's state, and its numbers
NUMBERS = ("square", "owed", "refined", "peak", "blended")


class Memory:
    """A running score for each sample by its index, and the latest scores of samples that come without one.

    score, visits: (N,); recent: (≤ RECENT,).
    """

    def __init__(self, rate: float):
        self.rate = rate
        self.score, self.visits, self.recent = torch.zeros(0), torch.zeros(0), torch.zeros(0)

    def learn(self, index: Tensor | None, score: Tensor) -> None:
        """The plain mean of a sample's first scores, then a running one."""
        if index is None:
            self.recent = torch.cat([self.recent.to(score.device), score])[-RECENT:]
            return
        self.make_room(index)
        rate = (1 / (self.visits[index] + 1)).clamp_min(self.rate)
        self.score[index] += rate * (score - self.score[index])
        self.visits[index] += 1

    def make_room(self, index: Tensor) -> None:
        missing = int(index.max()) + 1 - len(self.score) if len(index) else 0
        if missing > 0:
            room = torch.zeros(missing, device=index.device)
            self.score = torch.cat([self.score.to(index.device), room])
            self.visits = torch.cat([self.visits.to(index.device), room])

    @property
    def count(self) -> int:
        """How many indices have a score."""
        return int((self.visits > 0).sum())

    @property
    def known(self) -> Tensor:
        return torch.cat([self.score[self.visits > 0], self.recent.to(self.score.device)])

    def state_dict(self) -> dict[str, Tensor]:
        return {"score": self.score, "visits": self.visits, "recent": self.recent}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.score, self.visits, self.recent = (state[k].clone() for k in ("score", "visits", "recent"))


class Trust(Policy):
    """`memory` is the rate of the running scores; `settle` the share of its peak below which the learning rate thins
    the blends out, 0 for never. Samples without an index are judged anew in every refined step."""

    learned = True
    estimator = "evidence"
    every = 4
    by_class = True

    def __init__(self, alpha: float = 1.0, memory: float = 0.3, settle: float = 0.5):
        if not 0 < memory <= 1:
            raise ValueError(f"memory lies in (0, 1], not {memory}")
        if not 0 <= settle <= 1:
            raise ValueError(f"settle lies in [0, 1], not {settle}")
        self.beta, self.settling = Beta(alpha), settle
        self.samples, self.clean, self.balance = Memory(memory), Memory(memory), Balance()
        self.curve: Curve | None = None
        self.square, self.owed, self.refined = 0.0, 0.0, 0
        self.peak, self.blended = 0.0, 1.0  # the highest learning rate, and the share of pairs that are blended
        self._now: Tensor | None = None  # scores of a batch without indices, until it is blended

    def settle(self, rate: float) -> None:
        self.peak = max(self.peak, rate)
        threshold = self.settling * self.peak
        self.blended = min(1.0, rate / threshold) if threshold > 0 else 1.0

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """A pair that is not blended is its larger share alone."""
        lam = self.beta.draw(pairs, generator)
        if self.blended == 1:
            return lam
        alone = pairs.drawn(lambda n: torch.rand(n, generator=generator)) >= self.blended
        return torch.where(alone, lam.round(), lam)

    def virtual(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        """The batch is judged as it is, unblended."""
        return Mixture(torch.ones_like(lam), torch.arange(len(lam), device=lam.device))

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        """Learns from the rows of `meta.evidence.Evidence`; what trust does to λ is done by `mixture`."""
        score = self._score(grad.detach())
        batch, meta = score[: len(lam)], score[len(lam) :]
        self._now = batch if pairs.index is None else None
        # Every process learns what all of them have seen, so that their memories stay alike.
        seen = replace(pairs, index=_gathered(pairs.index), meta_index=_gathered(pairs.meta_index))
        self.samples.learn(seen.index, world.gathered(batch))
        self._learn_clean(world.gathered(meta), seen)
        if pairs.meta_labels is not None:
            self.balance.learn(pairs.labels[: len(lam)], -grad[: len(lam), 0].detach() / self.scale, pairs.meta_labels)
        if self.refined % RECALIBRATE == 0:
            self._calibrate()
        self.refined += 1
        return lam

    def _score(self, grad: Tensor) -> Tensor:
        """High is to be trusted. The gain is measured in its root mean square over the run: in units of the batch's,
        the noise of a batch without a signal would look like one."""
        square = float(world.mean(grad[:, 0].square().mean()))
        self.square += (square - self.square) * max(0.05, 1 / (self.refined + 1))
        return -grad[:, 0] / self.scale - SUPPORT * grad[:, 1].clamp(-WORST_LOSS, WORST_LOSS)

    @property
    def scale(self) -> float:
        return max(self.square, 1e-24) ** 0.5

    def _learn_clean(self, meta: Tensor, pairs: Pairs) -> None:
        """Meta images are few and come up often. They are remembered as seldom as training samples are, the least
        visited first, so that both memories are equally old."""
        if pairs.index is None or pairs.meta_index is None:
            self.clean.learn(None, meta)
            return
        self.clean.make_room(pairs.meta_index)
        clean = max(self.clean.count, len(pairs.meta_index))
        self.owed += len(pairs.index) * clean / self.samples.count
        turn = self.clean.visits[pairs.meta_index].argsort(stable=True)[: int(self.owed)]
        self.owed -= int(self.owed)
        self.clean.learn(pairs.meta_index[turn], meta[turn])

    def _calibrate(self) -> None:
        scores, clean = self.samples.known, self.clean.known
        if len(clean) >= FEWEST:
            self.curve = calibrate(scores[:: len(scores) // MOST + 1], clean)

    def trust(self, pairs: Pairs) -> Tensor:
        """(B,) the probability that each label is right; 1 for a sample that has not been judged."""
        unknown = torch.ones(len(pairs.labels), device=pairs.partner.device)
        if self.curve is None or (pairs.index is None and self._now is None):
            return unknown
        if self._now is not None:
            return self.curve(self._now)
        assert pairs.index is not None
        self.samples.make_room(pairs.index)
        judged = self.samples.visits[pairs.index] > 0
        return torch.where(judged, self.curve(self.samples.score[pairs.index]), unknown)

    def deal(self, order: Tensor) -> None:
        self._now = None if self._now is None else self._now[order]

    def mixture(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        trust, self._now = self.trust(pairs), None
        if self.blended < 1 and len(self.balance.seen):
            trust = trust * (pairs.labels.float() @ self.balance.weights(1 - self.blended))
        partner = replace_distrusted(pairs, trust, generator)
        lam = favour_trusted(lam, trust, trust[partner], pairs, generator)
        first, second = lam * trust, (1 - lam) * trust[partner]
        return Mixture(torch.where(first + second > 0, first / (first + second), lam), partner)

    def state_dict(self) -> dict[str, Any]:
        curve = {} if self.curve is None else {"knots": self.curve.knots, "trust": self.curve.trust}
        numbers = {name: getattr(self, name) for name in NUMBERS}
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        return {**parts, "curve": curve, **numbers}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in PARTS:
            getattr(self, name).load_state_dict(state[name])
        self.curve = Curve(**state["curve"]) if state["curve"] else None
        for name in NUMBERS:
            setattr(self, name, type(getattr(self, name))(state[name]))


def _gathered(index: Tensor | None) -> Tensor | None:
    return None if index is None else world.gathered(index)


def replace_distrusted(pairs: Pairs, trust: Tensor, generator: torch.Generator) -> Tensor:
    """A partner stays with the probability of its trust; otherwise one is drawn in proportion to trust. (B,)"""
    partner = pairs.partner
    stay, place = pairs.drawn(lambda n: torch.rand(2, n, generator=generator)).to(partner.device)
    drawn = torch.searchsorted(trust.cumsum(0), place * trust.sum()).clamp(max=len(partner) - 1)
    return torch.where(stay < trust[partner], partner, drawn)


def favour_trusted(lam: Tensor, first: Tensor, second: Tensor, pairs: Pairs, generator: torch.Generator) -> Tensor:
    """The larger share falls to the first side with probability t_i / (t_i + t_j), where MixUp's coin is fair: it
    changes sides only as often as that takes. lam, first, second: (B,), the latter two the sides' trust."""
    ahead = torch.where(lam > 0.5, second - first, first - second)
    change = ahead / (first + second).clamp_min(1e-12)
    coin = pairs.drawn(lambda n: torch.rand(n, generator=generator)).to(lam.device)
    return torch.where(coin < change, 1 - lam, lam)
