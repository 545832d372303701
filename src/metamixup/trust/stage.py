"""The product's own stage: MixUp with a trust in each sample's label that is learned from the meta set and remembered.

λ ~ Beta(α, α) as MixUp draws it, for the share of pairs that `amount` says. Every k-th step the meta set judges the
samples of the batch (`evidence`); each sample keeps a running score (`memory`), and its trust is P(label is right |
score), estimated from the scores of the clean meta images (`calibration`). Trust then shapes the blend (`blend`). As
fewer pairs are blended, classes that the meta set has more of are favoured in the same way (`balance`).
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.meta.stage import Stage
from metamixup.mixing import Mixture, Pairs
from metamixup.policy import Beta
from metamixup.trust.amount import Amount
from metamixup.trust.balance import Balance
from metamixup.trust.blend import blend
from metamixup.trust.calibration import Curve, calibrate
from metamixup.trust.evidence import Evidence, find_evidence
from metamixup.trust.memory import CleanMemory, ScoreMemory

RECALIBRATE = 8  # steps that learn between two calibrations
FEWEST = 20  # scores of clean images before trust is drawn from them
MOST = 20_000  # scores that a calibration looks at
PARTS = ("samples", "clean", "balance", "amount")  # of the state, and its numbers
NUMBERS = ("steps", "learned_steps", "square")


class Trust(Stage):
    """MixUp that learns which labels to trust. Samples without an index are judged anew in every step that learns.

    alpha: of the Beta(α, α) that λ is drawn from;
    memory: rate of the samples' running scores, in (0, 1];
    settle: the share of its peak below which the learning rate thins the blends out; 0 for never.
    """

    by_class = True
    every = 4

    def __init__(self, alpha: float = 1.0, memory: float = 0.3, settle: float = 0.5):
        if not 0 < memory <= 1:
            raise ValueError(f"memory lies in (0, 1], not {memory}")
        if not 0 <= settle <= 1:
            raise ValueError(f"settle lies in [0, 1], not {settle}")
        self.beta, self.amount, self.balance = Beta(alpha), Amount(settle), Balance()
        self.samples, self.clean = ScoreMemory(memory), CleanMemory(memory)
        self.curve: Curve | None = None
        self.learned_steps, self.square = 0, 0.0  # square: running mean of squared gains

    def __call__(
        self,
        model: nn.Module,
        loss: Loss,
        meta_loss: MetaLoss,
        pairs: Pairs,
        eta: Mapping[str, float],
        generator: torch.Generator,
    ) -> Mixture:
        due, self.steps = self.due, self.steps + 1
        if due:
            self.amount.see(max(eta.values(), default=0.0))
        lam = self.draw(pairs, generator)
        batch_scores = None
        if due:
            part = pairs.first(math.ceil(self.fraction * len(lam)))
            batch, meta = self.evidence(model, loss, meta_loss, lam[: len(part.partner)])
            batch_scores = self.learn(self.control.signal(batch), self.control.signal(meta), part)
        trust = self.trust(pairs, batch_scores) * self._class_weights(pairs)
        lam, trust = (self.control.dealt(values, generator) for values in (lam, trust))
        return blend(lam, trust, pairs, generator)

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """λ of each pair before trust changes it, (B,)."""
        lam = self.amount.thinned(self.beta.draw(pairs, generator), pairs, generator)
        return lam.to(pairs.labels.device, torch.promote_types(lam.dtype, pairs.labels.dtype))

    def evidence(self, model: nn.Module, loss: Loss, meta_loss: MetaLoss, like: Tensor) -> tuple[Evidence, Evidence]:
        """What the meta set says about the labels of the batch, and of itself. like: (n,)."""
        return find_evidence(model, loss, meta_loss, like)

    def learn(self, batch: Evidence, meta: Evidence, pairs: Pairs) -> Tensor:
        """Remembers what a step found about its samples and its meta images; the scores of the former, (n,)."""
        unit = self._unit(batch, meta)
        scores = batch.scores(unit)
        # Every process learns what all of them have seen, so that their memories stay alike.
        index, meta_index = (None if i is None else world.gathered(i) for i in (pairs.index, pairs.meta_index))
        clean_scores = world.gathered(meta.scores(unit))
        self.samples.learn(index, world.gathered(scores))
        if index is None or meta_index is None:
            self.clean.learn(None, clean_scores)
        else:
            self.clean.learn_in_turn(meta_index, clean_scores, len(index), self.samples.count)
        if pairs.meta_labels is not None:
            self.balance.learn(pairs.labels[: len(scores)], batch.gain / unit, pairs.meta_labels)
        if self.learned_steps % RECALIBRATE == 0:
            self._calibrate()
        self.learned_steps += 1
        return scores

    def _unit(self, batch: Evidence, meta: Evidence) -> float:
        """The root mean square of gains over the run: in units of its own, a batch that says nothing would look as if
        it did."""
        square = float(world.mean(torch.cat([batch.gain, meta.gain]).square().mean()))
        self.square += (square - self.square) * max(0.05, 1 / (self.learned_steps + 1))
        return max(self.square, 1e-24) ** 0.5

    def _calibrate(self) -> None:
        scores, clean = self.samples.known, self.clean.known
        if len(clean) >= FEWEST:
            self.curve = calibrate(scores[:: len(scores) // MOST + 1], clean)

    def trust(self, pairs: Pairs, batch_scores: Tensor | None = None) -> Tensor:
        """(B,) the probability that each label is right; 1 for a sample that has not been judged.

        batch_scores: (≤ B,) of the first samples, used where they come without an index.
        """
        trust = torch.ones(len(pairs.labels), device=pairs.partner.device)
        if self.curve is None:
            return trust
        if pairs.index is None:
            scores = trust[:0] if batch_scores is None else batch_scores
            return torch.cat([self.curve(scores), trust[len(scores) :]])
        self.samples.make_room(pairs.index)
        judged = self.samples.visits[pairs.index] > 0
        return torch.where(judged, self.curve(self.samples.score[pairs.index]), trust)

    def _class_weights(self, pairs: Pairs) -> Tensor:
        """(B,) 1 while all pairs are blended."""
        if self.amount.share == 1 or not len(self.balance.seen):
            return torch.ones(len(pairs.labels), device=pairs.labels.device)
        return pairs.labels.float() @ self.balance.weights(1 - self.amount.share)

    def state_dict(self) -> dict[str, Any]:
        curve = {} if self.curve is None else {"knots": self.curve.knots, "trust": self.curve.trust}
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        return {**parts, "curve": curve, **{name: getattr(self, name) for name in NUMBERS}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in PARTS:
            getattr(self, name).load_state_dict(state[name])
        self.curve = Curve(**state["curve"]) if state["curve"] else None
        for name in NUMBERS:
            setattr(self, name, type(getattr(self, name))(state[name]))
