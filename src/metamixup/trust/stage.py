"""The product's own stage: MixUp with a trust in each sample's label that is learned and remembered.

λ ~ Beta(α, α) as MixUp draws it, for the share of pairs that `amount` says; images are blended by boxes, as in
CutMix, anything else as in MixUp. A sample that is not blended is judged by the network in the step's own pass, for
nothing. Every k-th step is a look besides (`evidence`), at a part of the batch and now and then the meta set, or at all
of the batch where too few are judged otherwise. The predictions are remembered (`memory`). From those of all samples
follows how likely each label is right, and what it should be otherwise (`division`; `labels` holds both). A label is
then trained on as far as it is right, and the network's own guess takes the rest of its place. A clean meta set says
how far predictions can be believed; without one, the training labels themselves must tell. As fewer pairs are blended,
classes that the meta set has more of are favoured (`balance`). Beside unlabelled images only labels that were given are
judged: the others are the network's own guesses, of which it would say nothing new. Given ones are few then, so none of
them waits, and the share of blends is that of the untold.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.meta.stage import Stage
from metamixup.mixing import Mixture, Pairs
from metamixup.mixing.regions import paste_smaller
from metamixup.network import fragile
from metamixup.policy import Beta
from metamixup.policy.thinning import thinned
from metamixup.trust.amount import UNTOLD, Amount, Look
from metamixup.trust.balance import Balance
from metamixup.trust.blend import blend, label_columns, with_guesses
from metamixup.trust.evidence import Evidence, find_evidence
from metamixup.trust.labels import Labels
from metamixup.trust.memory import SAYS_NO_MORE, WIDE, folded
from metamixup.trust.suspects import remarks

WARM_UP = 15  # steps before labels are divided: a network that knows nothing cannot judge, one that waits learns them
BLENDED_PER_WRONG = 5  # where a label in ten is surely wrong, at least half of the pairs are blended
PLENTY = 0.4  # where the step's own pass judges this share of its samples, a look need not be at all of them
PART, FEWEST = 0.25, 32  # the share of the batch that a look is at then, and no fewer samples: BatchNorm needs company
SMALLEST = 16  # pixels of an image's side: a box hides too much of what smaller ones show
HEARING = 0.2  # rate of the running share of samples that are judged for nothing
PARTS = ("labels", "balance", "amount")  # of the state, and its numbers
NUMBERS = ("steps", "ignored", "learned_steps", "square", "heard", "unmatched")


class Trust(Stage):
    """MixUp that learns which labels to trust, and guesses the others. Samples without an index are judged anew in
    every step that learns.

    alpha: of the Beta(α, α) that λ is drawn from;
    memory: rate of the samples' running predictions, in (0, 1];
    settle: the share of its peak below which the learning rate thins the blends out; 0 for never;
    guesses: False: distrusted samples only lose weight in their blends;
    boxes: False: images too are blended pixel by pixel, as those of fewer than 16 pixels a side always are;
    rebalance: False: classes count as often as they come, whatever the meta set has more of.
    """

    by_class = True
    needs_meta = False
    listens = True
    meta_share = 0.25
    every = 4

    def __init__(
        self,
        alpha: float = 1.0,
        memory: float = 0.2,
        settle: float = 0.5,
        guesses: bool = True,
        boxes: bool = True,
        rebalance: bool = True,
    ):
        if not 0 < memory <= 1:
            raise ValueError(f"memory lies in (0, 1], not {memory}")
        self.beta, self.labels, self.amount, self.balance = Beta(alpha), Labels(memory), Amount(settle), Balance()
        self.guesses, self.boxes, self.rebalance = guesses, boxes, rebalance
        self.learned_steps, self.square = 0, 0.0  # square: running mean of squared gains
        self.heard = 0.0  # running share of samples that were judged in the step's own pass
        self.unmatched = 0  # of them, since the meta set was looked at last

    def __call__(
        self,
        model: nn.Module,
        loss: Loss,
        meta_loss: MetaLoss | None,
        pairs: Pairs,
        eta: Mapping[str, float],
        generator: torch.Generator,
    ) -> Mixture:
        if not self.steps:
            self.amount.begin(fragile(model))
        self.labels.follow(pairs.labels.device)
        due, self.steps = self.due, self.steps + 1
        if self.amount.unsettled and pairs.index is not None and pairs.labelled is None:
            self.amount.epoch.see(world.gathered(pairs.index))
        lam = self.draw(pairs, generator)
        seen = None
        if due:
            shown = self._shown(pairs, lam)
            self.heard *= 1 - HEARING
            part, judged_by = pairs.of(shown.partner), None if pairs.meta_labels is None else meta_loss
            batch, meta = self.evidence(model, loss, judged_by, shown, pairs.labels.shape[1])
            if self.usable(*vars(batch).values(), *([] if meta is None else vars(meta).values())):
                self._learn_amount(batch, meta, part, len(lam) * world.size())
                seen = self.learn(self.control.signal(batch), None if meta is None else self.control.signal(meta), part)
        truth = self.labels.posterior(pairs, seen) if self.distrust else None
        weights = self._class_weights(pairs)
        lam, trust = (self.control.dealt(values, generator) for values in (lam, self._acting(truth, pairs)))
        if pairs.index is not None and pairs.labelled is None:
            weights = weights * ~self.amount.waits(pairs.index)
        if truth is None or not self.guesses or pairs.labels.shape[1] > WIDE:
            return self._in_boxes(blend(lam, trust * weights, pairs, generator), pairs, generator)
        mixture = self._in_boxes(blend(lam, weights, pairs, generator), pairs, generator)
        return replace(mixture, own_labels=with_guesses(pairs.labels, truth, trust))

    def _in_boxes(self, mixture: Mixture, pairs: Pairs, generator: torch.Generator) -> Mixture:
        """The same blends of images by regions. Beside unlabelled images blends are the method's own, MixUp's; and a
        network leaves chance by MixUp's small gradients."""
        size = pairs.image_size if self.boxes and pairs.labelled is None and not self.amount.chance.stuck else None
        if size is None or min(size) < SMALLEST or not self.amount.share:
            return mixture
        centre = pairs.drawn(lambda n: torch.rand(2, n, generator=generator)).to(mixture.lam.device)
        return paste_smaller(mixture.lam, mixture.partner, centre, size)

    @property
    def due(self) -> bool:
        return self.learned and self.steps % self.pause == 0

    @property
    def meta_due(self) -> bool:
        """At every other look, where looks are only at a part of the batch."""
        return self.due and (not self.hears_enough or self.steps // self.pause % 2 == 0)

    @property
    def hears_enough(self) -> bool:
        return self.heard >= PLENTY

    @property
    def pause(self) -> int:
        """From look to look. Half as long until it is known whether labels are wrong and whether a long run overfits,
        twice as long once little is left to learn."""
        if not self.labels.division.watched or self.amount.in_doubt:
            return math.ceil(self.every / 2)
        at_rest = self.amount.released and not self.distrust
        return self.every * (2 if at_rest else 1)

    @property
    def forgets(self) -> bool:
        """Trust in a sample without an index lasts one step; but there may be nothing to distrust."""
        return self.distrust > 0 or not self.labels.division.watched

    @property
    def distrust(self) -> float:
        """How far distrust acts, in [0, 1]: as far as labels are surely wrong, and it pays. It does where the network
        learns them by heart, and sooner where hardly a right label is distrusted with them. A network that does not
        passes over labels that are wrong by chance, but would learn its own wrong guesses, which are alike."""
        sooner = self.labels.division.precise * self.amount.begun
        return self.labels.division.strength * max(self.amount.by_heart, sooner)

    def see(self, rate: float) -> None:
        self.amount.see(rate)

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """λ of each pair before trust changes it, (B,)."""
        lam = thinned(self.beta.draw(pairs, generator), self.amount.share, pairs, generator)
        lam = torch.maximum(lam, 1 - lam) if pairs.folded else lam
        return lam.to(pairs.labels.device, torch.promote_types(lam.dtype, pairs.labels.dtype))

    def evidence(
        self, model: nn.Module, loss: Loss, meta_loss: MetaLoss | None, shown: Mixture, classes: int
    ) -> tuple[Evidence, Evidence | None]:
        """What the network and the meta set say about the samples that are shown, and of the meta set itself."""
        return find_evidence(model, loss, meta_loss, shown, classes)

    def _shown(self, pairs: Pairs, lam: Tensor) -> Mixture:
        """The samples that a look is at, as they are: a part of the batch, with all that wait, where the others are
        judged in the step's own pass; otherwise the whole. They keep their order, which a recurrent network may ask
        for: packed sequences lie from the longest to the shortest. lam: (B,)."""
        if pairs.labelled is not None:
            return Mixture.alone(torch.arange(pairs.labelled, device=lam.device), lam)
        n = math.ceil(self.fraction * len(lam))
        part = min(n, max(FEWEST, math.ceil(PART * n)))
        if pairs.index is None or not self.hears_enough or part == n:
            return Mixture.unblended(lam[:n])
        waiting_first = (~self.amount.waits(pairs.index)).int().argsort(stable=True)
        return Mixture.alone(waiting_first[:part].sort().values, lam)

    def witness(self, logits: Tensor, pairs: Pairs, mixture: Mixture) -> None:
        """Half way from look to look: what is remembered of a sample is then as old as if all were looked at."""
        halfway = (self.steps - 1) % self.pause == self.pause // 2
        known = pairs.index is not None and len(logits) and logits.shape == pairs.labels.shape
        if not self.learned or not halfway or not known:
            return
        assert pairs.index is not None
        rows = (mixture.lam == 1).nonzero()[:, 0]
        said = Evidence(torch.zeros(len(rows)), logits[rows].float().log_softmax(1))
        told = pairs.index[rows], folded(self.control.signal(said).log_p), label_columns(pairs.labels[rows])
        index, log_p, labels = map(world.gathered, told)
        self.labels.learn(index, log_p, labels, looked=1 - PART)  # with the part that is looked at, the whole batch
        self.heard += HEARING * len(index) / (len(mixture.lam) * world.size())
        self.unmatched += len(index)

    def learn(self, batch: Evidence, meta: Evidence | None, pairs: Pairs) -> Tensor:
        """Remembers what a step found about its samples and its meta images; the predictions of the former, (n, K)."""
        log_p, labels = folded(batch.log_p), label_columns(pairs.labels)
        # Every process learns what all of them have seen, so that their memories stay alike.
        index = None if pairs.index is None else world.gathered(pairs.index)
        everyone = world.gathered(log_p)
        self.labels.learn(index, everyone, world.gathered(labels))
        if meta is not None and pairs.meta_labels is not None:
            self._learn_meta(batch, meta, pairs, len(everyone) + self.unmatched)
            self.unmatched = 0
        self.learned_steps += 1
        if self.steps >= WARM_UP:
            self.labels.divide(self.labels.samples.size if pairs.labelled is None else self.labels.samples.count)
        return log_p

    def _learn_meta(self, batch: Evidence, meta: Evidence, pairs: Pairs, seen: int) -> None:
        assert pairs.meta_labels is not None
        log_p, labels = world.gathered(folded(meta.log_p)), world.gathered(label_columns(pairs.meta_labels))
        index = None if pairs.index is None or pairs.meta_index is None else world.gathered(pairs.meta_index)
        self.labels.learn_clean(index, log_p, labels, seen)
        gain = (batch.gain / self._unit(batch, meta)).nan_to_num(0.0, 0.0, 0.0)
        distinct = None if index is None else (self.labels.samples.count, self.labels.clean.count)
        self.balance.learn(pairs.labels, gain, pairs.meta_labels, distinct)

    def _learn_amount(self, batch: Evidence, meta: Evidence | None, pairs: Pairs, shown: int) -> None:
        """Samples without an index cannot wait: the meta images, which are not trained on, stand for them. Beside
        unlabelled samples nothing tells. shown: how many samples the step has, of which `pairs` may be a part."""
        losses, labels = world.gathered(batch.losses(pairs.labels)), world.gathered(label_columns(pairs.labels))
        wrong, classes = min(1.0, BLENDED_PER_WRONG * self.distrust * self.labels.division.share), batch.log_p.shape[1]
        if pairs.index is not None and pairs.labelled is None:
            index = world.gathered(pairs.index)
            self.labels.samples.make_room(index, columns := min(classes, WIDE))
            waiting, (remembered, met) = self.amount.waits(index), self.labels.samples.of(index, columns)
            log_p = folded(self.control.signal(batch).log_p)  # as it is remembered
            now = world.gathered(log_p).clamp_min(SAYS_NO_MORE).to(remembered)
            gains = (now - remembered).gather(1, labels[:, None])[:, 0]
            chosen = (met & ~waiting, waiting, ~met & ~waiting)
            trained, waits, new = ((losses[rows], labels[rows]) for rows in chosen)
            look = Look(
                trained,
                waits,
                new,
                (gains[met & waiting], gains[met & ~waiting]),
                known=self.labels.samples.size,
                met=self.labels.samples.count,
                batch=shown,
                steps=self.steps,
                classes=classes,
                wrong=wrong,
                watched=self.labels.division.watched,
            )
            anew = self.amount.learn(look)
        elif meta is not None and pairs.meta_labels is not None and pairs.labelled is None:
            stand_in = (meta.losses(pairs.meta_labels), label_columns(pairs.meta_labels))
            held, held_labels = map(world.gathered, stand_in)
            anew = self.amount.learn(Look((losses, labels), (held, held_labels), classes=classes, wrong=wrong))
        else:
            nobody = (losses[:0], labels[:0])
            look = Look(nobody, nobody, (losses, labels), classes=classes, wrong=wrong)
            anew, self.amount.learned = self.amount.learn(look), UNTOLD
        if anew:
            self.amount.learned = 0.5 + self.control.signal(self.amount.learned - 0.5)

    def _unit(self, batch: Evidence, meta: Evidence) -> float:
        """The root mean square of gains over the run: in units of its own, a batch that says nothing would say much."""
        square = float(world.mean(torch.cat([batch.gain, meta.gain]).nan_to_num(0.0, 0.0, 0.0).square().mean()))
        self.square += (square - self.square) * max(0.05, 1 / (self.learned_steps + 1))
        return max(self.square, 1e-24) ** 0.5

    def _acting(self, truth: Tensor | None, pairs: Pairs) -> Tensor:
        """Trust as far as it may act, (B,)."""
        if truth is None:
            return torch.ones(len(pairs.labels), device=pairs.partner.device)
        return 1 - self.distrust * (1 - truth.gather(1, label_columns(pairs.labels)[:, None])[:, 0])

    def trust_of(self, index: Tensor) -> Tensor:
        return self.labels.trust_of(index)

    def _class_weights(self, pairs: Pairs) -> Tensor:
        """(B,) 1 until the learning rate has fallen."""
        if not self.rebalance or self.amount.settling.left == 1 or not len(self.balance.seen):
            return torch.ones(len(pairs.labels), device=pairs.labels.device)
        return pairs.labels.float() @ self.balance.weights(1 - self.amount.settling.left).to(pairs.labels.device)

    def classes_in(self, state: dict[str, Any], classes: int) -> int | None:
        columns = self.labels.columns_in(state["labels"]) - {min(classes, WIDE)}
        counted = {len(state["balance"]["seen"])} - {0, classes}
        return next(iter(counted | columns), None)

    def records(self) -> dict[str, float]:
        return self.amount.records()

    def remarks(self) -> list[str]:
        return remarks(self.labels.division, self.distrust, self.labels.samples.ignored + self.labels.clean.ignored)

    def state_dict(self) -> dict[str, Any]:
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        return {**parts, **{name: getattr(self, name) for name in NUMBERS}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in PARTS:
            getattr(self, name).load_state_dict(state[name])
        for name in NUMBERS:
            setattr(self, name, type(getattr(self, name))(state[name]))
