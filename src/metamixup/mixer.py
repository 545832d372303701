"""MetaMixUp for a training loop of one's own: three lines, any `nn.Module`, any tensor input."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from metamixup import world
from metamixup.choices import DEFAULT_POLICY, estimator_named, policy_named
from metamixup.errors import UserError, unknown
from metamixup.meta import Estimator, Stage, learning_rates, make_stage
from metamixup.mixing import Mixture, Pairs, own_partners, soft_cross_entropy, soft_labels
from metamixup.mixing.at import Place
from metamixup.mixing.blendable import LossFunction, require_blendable
from metamixup.network import Net, classifier_name
from metamixup.policy import Policy
from metamixup.trust import Suspect, Trust


@dataclass(frozen=True)
class Mixed:
    """A blended batch. x: (B, …); y: (B, C) soft labels or (B, …) blended targets; lam, partner: (B,)."""

    y: Tensor
    mixture: Mixture
    place: Place
    source: Tensor

    @cached_property
    def x(self) -> Tensor:
        if self.place.module is not None:
            raise UserError("samples are blended inside the model, not at its input: use mixed.outputs(model)")
        return self.mixture.inputs(self.source)

    @property
    def lam(self) -> Tensor:
        return self.mixture.lam

    @property
    def partner(self) -> Tensor:
        return self.mixture.partner

    def outputs(self, model: Callable[..., Any]) -> Any:
        """What the model makes of the blended batch, wherever it is blended; `model(mixed.x)` for `mix_at="input"`."""
        return self.place.outputs(model, self.source, self.mixture)


class MetaMixUp:
    """Blends each batch with λ learned from a small meta set.

        mixer = MetaMixUp(model, num_classes=10)
        mixed = mixer(x, y, x_meta, y_meta, lr=optimizer)
        loss = cross_entropy(model(mixed.x), mixed.y)

    `policy` is `Trust()` unless another is given: MixUp that learns which labels to trust. Give it the samples' `index`
    and it remembers them, so that a look at every fourth batch is enough; without, it looks at every batch.
    `estimator` is a name or an estimator ("head", "exact" and "finite_difference" serve `Learned`); `every=k` refines
    on each k-th step only. `mix_at` is "input", "features" (what the last linear layer is given) or the name of a
    module whose output is blended; the loss is then taken of `mixed.outputs(model)`. For regression and several labels
    a sample, give `num_classes=None` and the `loss` of (outputs, targets), smooth in the targets since those are
    blended.
    The model is never changed: parameters, buffers, gradients, mode and the global random state stay.
    """

    def __init__(
        self,
        model: nn.Module,
        num_classes: int | None,
        *,
        policy: str | Policy | Stage | None = None,
        estimator: str | Estimator | None = None,
        every: int | None = None,
        loss: LossFunction = soft_cross_entropy,
        mix_at: str = "input",
        seed: int = 0,
    ):
        if num_classes is None and loss is soft_cross_entropy:
            raise ValueError("without num_classes give the loss of (outputs, targets), for instance loss=mse_loss")
        # Another loss than cross entropy, or another estimator, asks for the policy of the paper.
        plain = loss is soft_cross_entropy and estimator is None
        policy = policy or (DEFAULT_POLICY if plain else "learned")
        if isinstance(policy, str):
            policy = policy_named(policy)
        if num_classes is None and policy.by_class:
            raise UserError(f"{type(policy).__name__} learns by class; without num_classes use Learned() or Beta()")
        estimator = estimator or (policy.default_estimator if policy.learned else None)
        if isinstance(estimator, str):
            estimator = estimator_named(estimator)
        self.model, self.num_classes, self.loss = model, num_classes, loss
        self.place = None if mix_at == "features" else _place(model, mix_at)  # features are found by a forward pass
        self._checked = loss is soft_cross_entropy
        self.stage = make_stage(policy, estimator)
        self._every, self._indexed_every = every, self.stage.every
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
        meta_index: Tensor | None = None,
    ) -> Mixed:
        """x: (B, …); y: (B,) classes or (B, C) soft labels. `lr` is a number, or the optimizer, each of whose groups
        then counts with its own. `index` (B,): the samples' positions in the training set, and `meta_index` (M,):
        the meta images' in theirs, for policies that remember them."""
        targets, place = self._targets(y, x), self._placed(x)
        partner = own_partners([len(x)], self.generator).to(x.device)
        meta_labels = None if x_meta is None or y_meta is None else self._targets(y_meta, x_meta)
        pairs = Pairs(partner, targets, _at(x, index), _at(x, meta_index), meta_labels, world.places([len(x)]))
        self.stage.every = self._every or (1 if index is None else self._indexed_every)

        def train_loss(net: Net, mixture: Mixture) -> Tensor:
            return self._loss(place.outputs(net, x, mixture), mixture.labels(targets))

        def meta_loss(net: Net) -> Tensor:
            if x_meta is None or meta_labels is None:
                raise ValueError("this step learns λ, so it needs a meta batch: mixer(x, y, x_meta, y_meta, lr=…)")
            return self._loss(net(x_meta), meta_labels)

        self.stage.see(lr if isinstance(lr, int | float) else max(group["lr"] for group in lr.param_groups))
        eta = learning_rates(self.model, lr) if self.stage.due else {}
        mixture = self.stage(self.model, train_loss, meta_loss, pairs, eta, self.generator)
        return Mixed(mixture.labels(targets), mixture, place, x)

    def _placed(self, x: Tensor) -> Place:
        if self.place is None:
            name = classifier_name(self.model, lambda net: net(x))
            self.place = Place(self.model.get_submodule(name), before=True)
        if self.place.module is None and not x.is_floating_point():
            raise UserError(f"inputs of {x.dtype} cannot be blended: give mix_at the name of their embedding")
        return self.place

    def _loss(self, outputs: Any, targets: Tensor) -> Tensor:
        if not self._checked:
            require_blendable(self.loss, outputs, targets)
            self._checked = True
        return self.loss(outputs, targets)

    def _targets(self, y: Tensor, x: Tensor) -> Tensor:
        dtype = x.dtype if x.is_floating_point() else torch.float32
        if self.num_classes is not None:
            return soft_labels(y, self.num_classes, dtype)
        if not y.is_floating_point():
            raise UserError(
                f"targets of {y.dtype} cannot be blended: give num_classes if they are classes, else floating targets"
            )
        return y.to(dtype)

    def trust(self, index: Tensor) -> Tensor:
        """(n,) how likely the labels of these training samples are right, by their `index`; 1 for one that has not
        been judged. Of the default policy."""
        return self._trusting().trust_of(index)

    def suspects(self, k: int = 100) -> list[Suspect]:
        """The k training samples whose labels are most likely wrong, the worst first, with what they likely are. They
        are known by their `index`."""
        return self._trusting().suspects(k)

    def _trusting(self) -> Trust:
        if not isinstance(self.stage, Trust):
            raise UserError(f"{type(self.stage).__name__} does not judge labels; the default policy, Trust(), does")
        return self.stage

    def state_dict(self) -> dict[str, Any]:
        return {"stage": self.stage.state_dict(), "generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stage.load_state_dict(state["stage"])
        self.generator.set_state(state["generator"])


def _at(x: Tensor, index: Tensor | None) -> Tensor | None:
    return None if index is None else index.to(x.device)


def _place(model: nn.Module, name: str) -> Place:
    if name == "input":
        return Place()
    modules = dict(model.named_modules())
    if name not in modules:
        raise unknown("module", name, ["input", "features", *filter(None, modules)])
    return Place(modules[name])
