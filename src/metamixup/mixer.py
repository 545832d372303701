"""MetaMixUp for a training loop of one's own: three lines, any `nn.Module`, any tensor input."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from metamixup.meta import Estimator, Exact, FiniteDifference, Head, MetaStage, learning_rates
from metamixup.meta.lookahead import Net
from metamixup.mixing import Mixture, Pairs, draw_partners, soft_cross_entropy, soft_labels
from metamixup.policy import Learned, Policy

ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    "exact": Exact,
    "finite_difference": FiniteDifference,
    "head": Head,
}


@dataclass(frozen=True)
class Mixed:
    """A blended batch. x: (B, …); y: (B, C) soft labels; lam, partner: (B,)."""

    x: Tensor
    y: Tensor
    lam: Tensor
    partner: Tensor


class MetaMixUp:
    """Blends each batch with λ learned from a small meta set.

        mixer = MetaMixUp(model, num_classes=10)
        mixed = mixer(x, y, x_meta, y_meta, lr=optimizer)
        loss = cross_entropy(model(mixed.x), mixed.y)

    `estimator` is a name ("head", "exact", "finite_difference") or an estimator; `every=k` refines λ on each k-th
    step only. The model is never changed: parameters, buffers, gradients, mode and the global random state stay.
    """

    def __init__(
        self,
        model: nn.Module,
        num_classes: int,
        *,
        policy: Policy | None = None,
        estimator: str | Estimator = "head",
        every: int = 1,
        loss: Callable[[Tensor, Tensor], Tensor] = soft_cross_entropy,
        seed: int = 0,
    ):
        if isinstance(estimator, str):
            if estimator not in ESTIMATORS:
                raise ValueError(f"unknown estimator {estimator!r}; known: {', '.join(ESTIMATORS)}")
            estimator = ESTIMATORS[estimator]()
        self.model, self.num_classes, self.loss = model, num_classes, loss
        self.stage = MetaStage(policy or Learned(), estimator, every)
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        x_meta: Tensor | None = None,
        y_meta: Tensor | None = None,
        *,
        lr: float | Optimizer,
        index: Tensor | None = None,
    ) -> Mixed:
        """x: (B, …); y: (B,) classes or (B, C) soft labels. `lr` is a number, or the optimizer, each of whose groups
        then counts with its own. `index` (B,): the samples' positions in the training set, for policies that remember
        them."""
        labels = self._labels(y, x)
        pairs = Pairs(draw_partners([len(x)], self.generator).to(x.device), labels, index)

        def train_loss(net: Net, mixture: Mixture) -> Tensor:
            return self.loss(net(mixture.inputs(x)), mixture.labels(labels))

        def meta_loss(net: Net) -> Tensor:
            if x_meta is None or y_meta is None:
                raise ValueError("this step learns λ, so it needs a meta batch: mixer(x, y, x_meta, y_meta, lr=…)")
            return self.loss(net(x_meta), self._labels(y_meta, x_meta))

        eta = learning_rates(self.model, lr) if self.stage.due else {}
        mixture = self.stage(self.model, train_loss, meta_loss, pairs, eta, self.generator)
        return Mixed(mixture.inputs(x), mixture.labels(labels), mixture.lam, mixture.partner)

    def _labels(self, y: Tensor, x: Tensor) -> Tensor:
        return soft_labels(y, self.num_classes, x.dtype if x.is_floating_point() else torch.float32)

    def state_dict(self) -> dict[str, Any]:
        return {"stage": self.stage.state_dict(), "generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stage.load_state_dict(state["stage"])
        self.generator.set_state(state["generator"])
