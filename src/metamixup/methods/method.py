"""What a training method is (named losses of any callable network), and the batch it sees.

MetaMixUp calls `loss` on the looked-ahead network to learn λ and on the real one to train, so no method knows whether
λ is learned.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.mixing import Mixture, Pairs, image_size, own_partners

Net = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Batch:
    """x: (B, …) inputs; y: (B, C) soft labels; index: (B,) positions in the training set.

    Semi-supervised methods also see u: (U, …) unlabelled inputs under one augmentation, u2: ((views−1)·U, …) the
    same under others (only where the method asks for `views` > 1), u_index: (U,), and what `prepare` adds: guesses
    (U, C) for them, mask (U,), 1 where a guess counts, and perturbation (U, …), to be added to u.
    `epoch` and `step` count from 0; `progress` runs from 0 to 1.
    """

    x: Tensor
    y: Tensor
    index: Tensor | None = None
    u: Tensor | None = None
    u2: Tensor | None = None
    u_index: Tensor | None = None
    guesses: Tensor | None = None
    mask: Tensor | None = None
    perturbation: Tensor | None = None
    epoch: int = 0
    step: int = 0
    progress: float = 0.0

    def of(self, rows: Tensor) -> Self:
        """These labelled samples alone. rows: (n,) positions in the batch."""
        return replace(self, x=self.x[rows], y=self.y[rows], index=None if self.index is None else self.index[rows])


class Method:
    """Defaults serve a supervised method that mixes at the input; subclasses change what differs."""

    unlabelled = False  # does it read batch.u?
    views = 1  # augmentations of each unlabelled sample
    tuned = 0.0  # share of the run, at its end, in which the classifier alone is trained
    tuned_on: Literal["meta", "balanced"] = "meta"  # then: meta images, or training images of all classes equally often

    def tunes(self, progress: float) -> bool:
        """Is the classifier alone trained at this point of the run?"""
        return progress >= 1 - self.tuned

    def tuned_from(self, steps: int) -> int:
        """The first step in which it is; `steps` where there is none."""
        return bisect_left(range(steps), True, key=lambda step: self.tunes(step / steps))

    def count(self, counts: Tensor) -> None:
        """Once, before training: how many labelled training images each class has, (C,)."""

    def setup(self, model: nn.Module) -> None:
        """Once, before training: whatever needs the model (an EMA teacher, a stage to mix at)."""

    def modules(self) -> dict[str, nn.Module]:
        """Networks of the method's own. Those with trainable parameters join the optimizer; all join checkpoints."""
        return {}

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        """Before λ is drawn, without gradient: pseudo-labels and guesses are added here, so `loss` stays pure."""
        return batch

    def pairs(self, batch: Batch, generator: torch.Generator) -> Pairs:
        """Partners, drawn once a step."""
        partner = own_partners([len(batch.x)], generator).to(batch.x.device)
        positions = world.global_positions([len(batch.x)])
        return Pairs(partner, batch.y, batch.index, positions=positions, image_size=image_size(batch.x))

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        """Named terms, scalars that the engine adds up and records. A pure function of `net`, which is the
        model given to `setup` or a functional form of it with other weights."""
        raise NotImplementedError

    def plain_loss(self, net: Net, batch: Batch) -> Tensor:
        """Of labelled samples as they are, in one pass: for a stage that asks what `net` makes of their labels."""
        as_they_are = Mixture.unblended(torch.ones(len(batch.x), device=batch.x.device))
        return torch.stack(list(self.loss(net, batch, as_they_are).values())).sum()

    def recorded(self, mixture: Mixture) -> Mixture:
        """The blend to record. A method that changes the policy's λ inside `loss` returns the one it used."""
        return mixture

    def after_step(self, model: nn.Module, batch: Batch) -> None:
        """After the optimizer's step: EMA and the like."""

    def after_epoch(self, epoch: int) -> None:
        """After each epoch: thresholds and the like."""

    def evaluated(self, model: nn.Module) -> tuple[str, nn.Module]:
        """Which weights are evaluated, by name: ("student", model) or ("teacher", ema)."""
        return "student", model

    def records(self) -> dict[str, float]:
        """Numbers of the epoch for metrics.jsonl beyond the losses (σ, share above it, …); reading resets them."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """State beyond `modules()`: counters, thresholds."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass
