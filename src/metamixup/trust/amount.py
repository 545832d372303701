"""How much to mix, learned while training: the share of the pairs that are blended.

A network that knows the samples it trains on far better than others gains by mixing; one that knows both alike has
nothing to gain and is held back. So a few training samples, chosen by their index, wait: they are judged with their
batch but not trained on. Of the `gap` between the running losses of those that wait and of the others

    p = clip((gap − LOW) / (HIGH − LOW), 0, 1),

at once and without a memory of its own: mixing keeps the trained loss up, so p comes to rest where it holds the gap.

But a gap alone says little: samples that are hard are known worse for a long time, and mixing would only slow down what
the network still learns of them. So nothing is blended as long as what it learns carries over to those that wait
(`transfer`), unless it knows what it trains on by heart already.

Mixing pays late, so the gap tells late that it would have. Where the learning rate tells how long the run will be
(`horizon`), that is known before: a short run ends before anything is learned by heart, so nothing is blended and
nobody waits; in a long one nothing waits for the gap, but only until labels have been watched for long enough to tell
wrong ones, which is easier on whole samples. As long as the run may be a short one, nobody waits in the first epochs
either. And in time: at two fifths of a long run what is likeliest by then counts, and nobody waits any more.

A network that is at chance (`chance`) has nothing to lose: all pairs are blended until it knows something.

Once all pairs have been blended for a while, or the learning rate has fallen to `settle` of its peak, nobody waits any
more. From there on p falls with the rate, so that the network ends its training on the samples themselves. A rate that
never falls does not tell when that is; but training ends with an epoch. So until the rate has begun to fall, pairs are
blended in the first part of each epoch alone, or, where nothing tells the epochs apart, at most a quarter of them.
Wrong labels are blended all the same, once they are learned by heart.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from metamixup.policy.thinning import Settling
from metamixup.trust.chance import SAYS_LITTLE, Chance
from metamixup.trust.epoch import Epoch
from metamixup.trust.gap import Gap
from metamixup.trust.horizon import Horizon
from metamixup.trust.losses import Losses, between, finite
from metamixup.trust.transfer import Transfer

LOW, HIGH = 0.1, 0.3  # of the gap: between them p goes from 0 to 1
BY_HEART = (0.1, 0.15)  # of the widest gap: nothing that was shown is known by heart, and some is
SURELY = (0.15, 0.3)  # the same of what the gap is at least, whatever still carries over
SHORT, LONG = 9.5, (15, 19.5)  # epochs of a run that learns nothing by heart; from and to which it surely will
KNOWN = (0.2, 0.12)  # the loss of what is trained on, of guessing 1: there is more to learn, and it is known by heart
SOONEST = 3  # epochs before anybody waits in what may be a short run
WAITING = 200  # samples that wait, in a long run twice as many, but
MOST, LEAST = 0.05, 0.01  # no more and no less than these shares of all
TOLD_BY = 0.4  # of a long run: blends that begin later are of little use, so what is likeliest by then is believed
EARLY = 0.75  # the part of each epoch in which pairs are blended while the learning rate is at its peak
UNSETTLED = 0.25  # the most that is blended then where epochs are not known
FEW = 200  # samples, of which too few would wait to tell anything: none does then, and
UNTOLD = 0.5  # of the pairs are blended, as everywhere where nothing tells
FEWEST = 20  # losses of waiting samples before p is drawn from them
WINDOW = 1.6  # running losses reach over this many times √N losses of waiting samples
UNNUMBERED = 200  # the same where samples come without an index
REACH = 3.0  # times as far reach the gains, which are smaller than the losses
GOLDEN = 2654435761  # spreads indices evenly over 32 bits, so that classes that lie in order wait alike
PARTS = ("settling", "epoch", "horizon", "gap", "transfer", "chance")
NUMBERS = (
    *("learned", "least", "wrong", "overfits", "known"),
    *("batch", "past", "epochs", "full", "cut_short", "released"),
)


@dataclass(frozen=True)
class Look:
    """What a look found.

    trained, waiting: losses of unblended samples; the former of samples met before, since nothing is known by heart at
    first sight;
    new: of the others;
    gains: of waiting and of trained samples, by how much their labels are likelier than they were;
    known: how many samples there are, by their index, 0 without one;
    met: how many have been met so far;
    batch: how many a step shows;
    steps: how many there have been;
    classes: how many there are;
    wrong: what p is at least, since labels are wrong;
    watched: have labels been watched for long enough to tell?
    """

    trained: Losses
    waiting: Losses
    new: Losses = (torch.zeros(0), torch.zeros(0, dtype=torch.int64))
    gains: tuple[Tensor, Tensor] = (torch.zeros(0), torch.zeros(0))
    known: int = 0
    met: int = 0
    batch: int = 0
    steps: int = 0
    classes: int = 2
    wrong: float = 0.0
    watched: bool = False


class Amount:
    """The share of pairs that are blended.

    settle: the share of its peak below which the learning rate thins the blends out; 0 for never.

    Holds parts that tell
    settling: what is left of p as the rate falls;
    epoch: how much of it is over, while the rate is at its peak;
    horizon: how long the run will be, in steps;
    gap: between those who wait and those who are trained on;
    transfer: from these to those;
    chance: whether the network still knows nothing;
    and numbers
    learned: p, before it is thinned out;
    least: what p is at least, since labels are wrong (`wrong`) or the network is at chance;
    overfits: how surely the network has ever learned by heart, in [0, 1];
    known: how many samples there are, by their index;
    batch: the largest so far;
    past: epochs so far, and epochs: how many there will be, 0 while that is not known;
    cut_short: was the run taken for a short one?;
    full: how long p has been 1, in windows of the running losses;
    released: does nobody wait any more?
    """

    def __init__(self, settle: float = 0.5):
        self.settling, self.epoch, self.horizon = Settling(settle), Epoch(), Horizon()
        self.gap, self.transfer, self.chance = Gap(), Transfer(), Chance()
        self.batch, self.past, self.epochs, self.cut_short = 0, 0.0, 0.0, False
        self.overfits, self.learned, self.least, self.wrong, self.full, self.released = 0.0, 0.0, 0.0, 0.0, 0.0, False
        self.known = 0

    def begin(self, fragile: bool) -> None:
        """Before the first step. fragile: may the network die before it has learned anything?"""
        self.chance.begin(fragile)
        self.least = self.chance.stuck

    @property
    def share(self) -> float:
        """In this step."""
        if not self.unsettled:
            return self._at_most(1.0)
        return self._at_most(UNSETTLED if self.epoch.over is None else float(self.epoch.over <= EARLY))

    @property
    def mean_share(self) -> float:
        """Over an epoch."""
        if not self.unsettled or self.epoch.over is None:
            return self.share
        return EARLY * self._at_most(1.0) + (1 - EARLY) * self._at_most(0.0)

    def _at_most(self, most: float) -> float:
        return max(self.least, min(self.learned, most)) * self.settling.left

    @property
    def unsettled(self) -> bool:
        """Has the learning rate not begun to fall?"""
        return not self.settling.fallen and self.settling.settle > 0

    def see(self, rate: float) -> None:
        """The learning rate of a step."""
        self.settling.see(rate)
        self.horizon.see(rate)
        self.released = self.released or self.settling.left < 1

    def waits(self, index: Tensor) -> Tensor:
        """(B,) which samples are not to be trained on. Ever fewer as more are known, so that nobody who waits has been
        trained on, but in the first epochs."""
        share = min(MOST, max(LEAST, WAITING / max(1, self.known))) if self.anybody_waits else 0.0
        share *= 1 + (self.long > 0)
        return (index.long() * GOLDEN) % 2**32 < share * 2**32

    @property
    def anybody_waits(self) -> bool:
        may_be_short = self.horizon.total * self.batch < SHORT * max(1, self.known)
        early = may_be_short and self.past < SOONEST
        return not (self.released or self.few or early)

    @property
    def in_doubt(self) -> bool:
        """Must it be told soon whether the network overfits? In a long run blends that come late are of less use."""
        return self.long > 0 and self.anybody_waits and self.overfits < 1

    def learn(self, look: Look) -> bool:
        """Draws p from what a look found, unless nobody waits any more. Was it drawn anew?"""
        before = max(self.wrong, self.learned)
        if not self.released:
            self.known = look.known or self.known
        self._learn_length(look)
        trained, waiting, new = (finite(found) for found in (look.trained, look.waiting, look.new))
        self.chance.learn((trained, waiting, new), look.classes, self.past)
        if look.wrong:
            self.chance.stuck = 0.0  # wrong labels that are not learned cost more than guesses do
        self.wrong = look.wrong * self.begun
        self.least = max(self.wrong, self.chance.stuck)
        if self.released or self.few or not len(trained[0]):
            return False
        windows = self._windows(len(trained[0]), len(waiting[0]))
        self.gap.learn(trained, waiting, max(0.0, 1 - windows))
        if self.gap.heard >= self.window:
            self.gap.note_widest()
        self.transfer.learn(*look.gains, max(0.0, 1 - windows / REACH))
        late = self.long > 0 and self.past > TOLD_BY * self.epochs
        self.overfits = max(self.overfits, self._overfits(look.classes, surely=not late))
        self.learned = self.begun * max(self._by_gap(), look.watched * self.long)
        self.full = self.full + windows if max(self.wrong, self.learned) == before == 1 else 0.0
        self.released = look.known > 0 and (self.full >= 1 or late)
        return True

    def _learn_length(self, look: Look) -> None:
        self.batch = max(self.batch, look.batch)  # the last one of an epoch may be a small rest
        epoch = look.known / self.batch if self.batch else 0.0  # in steps
        self.past, self.epochs = (steps / epoch if epoch else 0.0 for steps in (look.steps, self.horizon.total))
        surely = self.epochs if self.past >= SOONEST or not look.met else self.horizon.total * self.batch / look.met
        short = 0 < surely < SHORT  # before, there may be gaps that have not shown
        self.cut_short, self.released = self.cut_short or short, self.released or short
        if self.few or self.cut_short:
            self.learned = 0.0 if short and not self.few else UNTOLD

    def _windows(self, trained: int, waiting: int) -> float:
        """How much of what running losses reach over a look is. Where nobody waits, that is half of all samples."""
        if self.known and not self.anybody_waits:
            return 2 * trained / self.known
        return waiting / self.window

    def _by_gap(self) -> float:
        return between(self.gap.value, (LOW, HIGH)) if self.measured and self.gap.heard >= FEWEST else 0.0

    @property
    def measured(self) -> bool:
        """Does the gap tell anything? What was heard of those who waited is soon out of date."""
        return self.gap.heard > 0 and (self.anybody_waits or not self.known)

    @property
    def begun(self) -> float:
        """Has the network begun to learn by heart, in [0, 1]? It counts that it ever has, since blends and guesses keep
        it from going on. 1 where nobody waits who could tell, or too few did; and where samples come without an index
        none is compared with itself, and the gap alone tells."""
        unheard = self.released and not self.cut_short and self.gap.heard < self.window
        return 1.0 if self.few or not self.known or unheard else self.overfits

    def _overfits(self, classes: int, surely: bool) -> float:
        """Does it now, beyond chance if `surely`? What is known by heart already leaves nothing to gain."""
        if self.gap.heard < self.window:
            return 0.0
        guessing = self.chance.guessing(classes)
        known = between(self.gap.losses[1] / guessing, KNOWN) if guessing > SAYS_LITTLE else 0.0
        gap = self.gap.at_least if surely else self.gap.value
        return max(known, self.transfer.overfits(surely), between(gap, SURELY))

    @property
    def long(self) -> float:
        """Will the network surely learn by heart what it is shown, in [0, 1]?"""
        return between(self.epochs, LONG)

    @property
    def few(self) -> bool:
        return 0 < self.known < FEW

    @property
    def by_heart(self) -> float:
        """Does the network learn by heart what it is shown, or surely will, in [0, 1]? The widest gap counts, since
        blends and guesses close it again. 1 where nobody surely waits: without indices, meta images may be trained on
        too."""
        return max(between(self.gap.widest, BY_HEART), self.long * self.begun) if self.known >= FEW else 1.0

    @property
    def window(self) -> float:
        return max(FEWEST, WINDOW * math.sqrt(self.known)) if self.known else UNNUMBERED

    def records(self) -> dict[str, float]:
        """For the line of an epoch."""
        found = {"blended": self.mean_share}
        if self.measured:
            waiting, trained = self.gap.losses
            found |= {"gap": self.gap.value, "waiting_loss": waiting, "trained_loss": trained}
            found |= {"transfer": min(2.0, max(-1.0, self.transfer.value))} if self.known else {}
        return {name: round(value, 5) for name, value in found.items()}

    def state_dict(self) -> dict[str, Any]:
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        return parts | {name: getattr(self, name) for name in NUMBERS}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in PARTS:
            getattr(self, name).load_state_dict(state[name])
        for name in NUMBERS:
            setattr(self, name, type(getattr(self, name))(state[name]))
