"""What a stage is: it gives each training step its mixture, and on every k-th step learns from a meta batch.

`meta.algorithm.MetaStage` is Algorithm 1 around a policy; `trust.Trust` is the product's own.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.meta.estimator import Estimator, Loss, MetaLoss
from metamixup.mixing import Mixture, Pairs

Signal = TypeVar("Signal")


class Uncontrolled:
    """What a control (`meta.controls`) may change: here, nothing."""

    def signal(self, found: Signal) -> Signal:
        """What is learned from, for instance ∇λ."""
        return found

    def dealt(self, values: Tensor, generator: torch.Generator) -> Tensor:
        """What was learned of each sample or pair, (B,), in the order in which the batch gets it."""
        return values


class Stage:
    """Subclasses give `__call__`, which counts `steps`."""

    learned = True  # does it ever learn?
    needs_meta = True  # a step that learns cannot do without a meta batch
    by_class = False  # does it look at classes, so that targets without any are not for it?
    estimator: Estimator | None = None  # of ∇λ, where it has one
    default_estimator: str | None = None
    control = Uncontrolled()
    every = 1  # it learns on each k-th step only
    fraction = 1.0  # of the batch, that it learns from
    steps = 0  # so far
    ignored = 0  # steps whose gradient was not finite, so that nothing was learned from them
    listens = False  # does it learn from the step's own pass?
    meta_share = 1.0  # size of a meta batch that is enough, as a share of the batch

    @classmethod
    def meta_batch(cls, n: int) -> int:
        """How many meta images are enough beside a batch of n."""
        return max(2, math.ceil(cls.meta_share * n))

    def pace(self, every: int, fraction: float = 1.0) -> None:
        """Sets how often it learns, and from how much of a batch."""
        if every < 1:
            raise ValueError(f"λ is refined on every k-th step with k ≥ 1, not {every}")
        if not 0 < fraction <= 1:
            raise ValueError(f"λ is learned from a fraction of the batch in (0, 1], not {fraction}")
        self.every, self.fraction = every, fraction

    def see(self, rate: float) -> None:
        """Told the learning rate of each step, before it."""

    def usable(self, *found: Tensor) -> bool:
        """Is what was found finite, in every process? If not, it is counted and must not be learned from: one bad batch
        would spoil all that is remembered."""
        (bad,) = world.any_of(not all(bool(torch.isfinite(values).all()) for values in found))
        self.ignored += bad
        return not bad

    def witness(self, logits: Tensor, pairs: Pairs, mixture: Mixture) -> None:
        """Told what the step's own pass said of its mixture, (B, C), where `listens` is true: a sample that is not
        blended is judged in it for nothing."""

    @property
    def forgets(self) -> bool:
        """Is all that it learns of samples without an index of use in that step alone?"""
        return True

    @property
    def due(self) -> bool:
        """Will the next call learn?"""
        return self.learned and self.steps % self.every == 0

    @property
    def meta_due(self) -> bool:
        """Will it use a meta batch, if there is one?"""
        return self.due

    def __call__(
        self,
        model: nn.Module,
        loss: Loss,
        meta_loss: MetaLoss | None,
        pairs: Pairs,
        eta: Mapping[str, float],
        generator: torch.Generator,
    ) -> Mixture:
        """The mixture that the step trains on. The model is left as it was found.

        meta_loss: of the meta batch; None where there is none.
        """
        raise NotImplementedError

    def trust_of(self, index: Tensor) -> Tensor | None:
        """(n,) how likely the labels of these training samples are right; None if it does not ask."""
        return None

    def classes_in(self, state: dict[str, Any], classes: int) -> int | None:
        """How many classes a state was learned with, where it shows and is not this number."""
        return None

    def records(self) -> dict[str, float]:
        """Numbers for the record of an epoch."""
        return {}

    def remarks(self) -> list[str]:
        """What a person should know at the end of a run, a sentence each."""
        return []

    def state_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def load_state_dict(self, state: dict[str, Any]) -> None:
        raise NotImplementedError
