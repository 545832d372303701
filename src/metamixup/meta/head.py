"""The meta-gradient when only the classifier takes the virtual step: no second derivative of the network.

With h the features of a blended sample, δ = ∂ℓ/∂logits and V the gradient of the meta loss in the classifier's W, the
virtual step changes the meta loss by −⟨δ, h(ηV)ᵀ⟩ to first order, and its derivative in λ is ∇λ.

Two things make that nearly as good as the gradient in all weights:
- features are centred, since the mean feature moves all logits alike and drowns the rest (`centred`);
- V is averaged over the latest meta batches, so that λ does not learn the noise of one (`memory`).
Cheaper still, and a little worse: samples blended where the network first makes them smaller (`blend="early"`), or at
the features, so that no backward pass through the network is left (`blend="features"`). `Head.plain()` has none of
these: it is `Exact` restricted to the classifier's parameters, to the last digit.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.errors import UserError
from metamixup.meta.classifier import Headed, rates_of
from metamixup.meta.early import early_point
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.meta.lookahead import ahead, gradient, scaled
from metamixup.mixing import Mixture
from metamixup.mixing.at import BlendPoint
from metamixup.network import Parameters, classifier_name, leaving_no_trace

BLENDS = ("features", "early", "input")


class Head:
    """∇λ of a virtual step of the last linear layer alone.

    classifier: the name of the linear layer that takes the step; by default the one that the model ends in;
    lookahead: False takes V at W, not at the looked-ahead W′: nearly the same;
    blend: "input", "early" or "features", where samples are blended for it;
    centred: the step acts on features less their mean;
    memory: share of the mean of earlier meta-gradients that each step keeps, in [0, 1); 0 for none.
    """

    def __init__(
        self,
        classifier: str | None = None,
        lookahead: bool = True,
        blend: str = "input",
        centred: bool = True,
        memory: float = 0.9,
    ):
        if blend not in BLENDS:
            raise ValueError(f"samples are blended at the {' or the '.join(BLENDS)}, not at {blend!r}")
        if not 0 <= memory < 1:
            raise ValueError(f"memory lies in [0, 1), not {memory}")
        self.classifier, self.lookahead, self.blend, self.centred = classifier, lookahead, blend, centred
        self.memory = GradientMean(memory)

    @classmethod
    def plain(cls, classifier: str | None = None, lookahead: bool = True) -> "Head":
        return cls(classifier, lookahead, blend="input", centred=False, memory=0.0)

    def __call__(
        self, model: nn.Module, loss: Loss, meta_loss: MetaLoss, mixture: Mixture, eta: Mapping[str, float]
    ) -> Tensor:
        name = self.classifier or classifier_name(model, meta_loss)
        rates = rates_of(model, name, eta)
        if "weight" not in rates:
            raise UserError(f"estimator 'head': the weight of {name!r} is not trained, so it has no virtual step")
        if self.centred:
            rates = {"weight": rates["weight"]}
        mixture = mixture.with_gradient()
        with leaving_no_trace(model):
            net = Headed(model, name, self.centred, self._point(model, name, meta_loss))
            with net.hooked():
                return self._gradient(net, loss, meta_loss, mixture, rates)

    def _point(self, model: nn.Module, classifier: str, forward: MetaLoss) -> BlendPoint:
        if self.blend == "features":
            return BlendPoint(model.get_submodule(classifier), before=True)
        early = early_point(model, forward) if self.blend == "early" else None
        return BlendPoint() if early is None else BlendPoint(model.get_submodule(early))

    def _gradient(
        self, net: Headed, loss: Loss, meta_loss: MetaLoss, mixture: Mixture, rates: dict[str, float]
    ) -> Tensor:
        step = {key: torch.zeros_like(getattr(net.layer, key)).requires_grad_() for key in rates}
        net.step = step
        virtual = loss(net, net.blending(mixture))
        if not net.each_blend_was_made():
            self.blend, net.point = "input", BlendPoint()
            virtual = loss(net, net.blending(mixture))
        g = gradient(virtual, step, create_graph=True)
        if not g["weight"].requires_grad:
            return torch.zeros_like(mixture.lam)
        if self.lookahead:
            net.step = ahead(step, world.mean_all(g), rates)
        u = scaled(self.memory(world.mean_all(gradient(meta_loss(net), net.step))), rates)
        (product,) = torch.autograd.grad(
            list(g.values()), mixture.lam, [u[key] for key in g], allow_unused=True, materialize_grads=True
        )
        return -product / world.size()  # g is the mean over the processes

    def state_dict(self) -> dict[str, Any]:
        return {"blend": self.blend, **self.memory.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.blend = state["blend"]
        self.memory.load_state_dict(state)


class GradientMean:
    """Adds to each meta-gradient the mean of those before it, whose noise is smaller; `rate` 0 adds nothing."""

    def __init__(self, rate: float):
        self.rate, self.count = rate, 0
        self.total: Parameters = {}

    def __call__(self, v: Parameters) -> Parameters:
        if not self.rate:
            return v
        if not all(bool(torch.isfinite(value).all()) for value in v.values()):
            return v  # not worth remembering
        if any(self.total[key].shape != v[key].shape for key in self.total):
            self.count, self.total = 0, {}  # another model
        share = 1 - self.rate**self.count
        summed = {key: v[key] + self.total[key] / share for key in v} if self.count else v
        self.total = {key: self.rate * self.total.get(key, 0) + (1 - self.rate) * v[key] for key in v}
        self.count += 1
        return summed

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "total": self.total}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.count = int(state["count"])
        self.total = {key: value.clone() for key, value in state["total"].items()}
