"""The meta-gradient when only the classifier takes the virtual step: no second derivative of the backbone.

With h the features of a blended sample, δ = ∂ℓ/∂logits and (V, v) the gradient of the meta loss in the classifier's
(W, b), the virtual step changes the meta loss by −⟨δ, h(ηV)ᵀ + ηv⟩ to first order. Restricted to W and b the exact
meta-gradient is just the derivative of that in λ: one backward pass through the backbone, to the input only. The meta
batch needs one forward pass without a graph.
"""

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from metamixup.errors import UserError
from metamixup.meta.estimator import MetaLoss, TrainLoss
from metamixup.meta.exact import meta_gradient
from metamixup.meta.lookahead import Net, leaving_no_trace, network


def last_linear(model: nn.Module, forward: Callable[[Net], Any]) -> str:
    """The name of the linear layer that is called last in a forward pass."""
    called: list[str] = []
    linears = {name: m for name, m in model.named_modules() if isinstance(m, nn.Linear)}
    hooks = [m.register_forward_hook(lambda *_, name=name: called.append(name)) for name, m in linears.items()]
    try:
        with leaving_no_trace(model), torch.no_grad():
            forward(network(model, {}))
    finally:
        for hook in hooks:
            hook.remove()
    if not called:
        raise UserError(
            "estimators 'head' and 'evidence' (of policy 'trust') and mix_at='features' need a model that ends in a "
            "linear layer, and this one has none; policy 'learned' with estimator 'finite_difference' or 'exact' "
            "serves any model"
        )
    return called[-1]


_classifiers: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()


def classifier_of(model: nn.Module, forward: Callable[[Net], Any]) -> str:
    """`last_linear`, looked for once a model."""
    if model not in _classifiers:
        _classifiers[model] = last_linear(model, forward)
    return _classifiers[model]


class Head:
    """`layers` names the modules that take the virtual step; by default the last linear layer, found by itself."""

    def __init__(self, layers: tuple[str, ...] = (), lookahead: bool = True):
        self.layers, self.lookahead = layers, lookahead

    def __call__(
        self, model: nn.Module, loss: TrainLoss, meta_loss: MetaLoss, lam: Tensor, eta: Mapping[str, float]
    ) -> Tensor:
        layers = self.layers or (classifier_of(model, meta_loss),)
        # By identity and not by name: a tied weight is listed once, under its first owner.
        members = {id(p) for layer in layers for p in model.get_submodule(layer).parameters()}
        chosen = {n: eta[n] for n, p in model.named_parameters() if n in eta and id(p) in members}
        if not chosen:
            raise UserError(f"estimator 'head': no trainable parameter lies in {', '.join(layers)}")
        return meta_gradient(model, loss, meta_loss, lam, chosen, self.lookahead)
