"""The exact meta-gradient, with explicit vectors in place of an unrolled graph.

With g(λ) = ∇θ ℓ(θ, λ) and v = ∇ℓ_val at θ′ = θ − ηg, the chain rule gives ∇λ = −(∂g/∂λ)ᵀ ηv: one double backward.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from metamixup import world
from metamixup.errors import UserError, unknown
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.meta.lookahead import ahead, gradient, scaled, trainable
from metamixup.meta.second_order import FastSecondDerivatives
from metamixup.mixing import Mixture
from metamixup.network import leaving_no_trace, network


def meta_gradient(
    model: nn.Module,
    loss: Loss,
    meta_loss: MetaLoss,
    mixture: Mixture,
    eta: Mapping[str, float],
    lookahead: bool = True,
) -> Tensor:
    """∇λ of the meta loss after a virtual step of the parameters that `eta` names; all others stand still. (B,)"""
    with leaving_no_trace(model):
        mixture = mixture.with_gradient()
        theta = trainable(model, eta)
        with FastSecondDerivatives():
            virtual = loss(network(model, theta), mixture)
        g = gradient(virtual, theta, create_graph=True)
        at = ahead(theta, world.mean_all(g), eta) if lookahead else theta
        u = scaled(world.mean_all(gradient(meta_loss(network(model, at)), at)), eta)
        reached = [name for name in theta if g[name].requires_grad]
        if not reached:
            return torch.zeros_like(mixture.lam)
        (product,) = torch.autograd.grad(
            [g[n] for n in reached], mixture.lam, [u[n] for n in reached], allow_unused=True, materialize_grads=True
        )
    # g is the mean over the processes: what this one adds to it counts 1/N.
    return -product / world.size()


class Exact:
    """∇λ of a virtual step of all parameters, or of some.

    lookahead: False takes v at θ, not at θ′: nearly the same direction;
    layers: names of the modules whose parameters take the step; none named: all.
    """

    def __init__(self, lookahead: bool = True, layers: tuple[str, ...] = ()):
        self.lookahead, self.layers = lookahead, layers

    def __call__(
        self, model: nn.Module, loss: Loss, meta_loss: MetaLoss, mixture: Mixture, eta: Mapping[str, float]
    ) -> Tensor:
        moved = restricted(model, eta, self.layers) if self.layers else eta
        with sdpa_kernel(SDPBackend.MATH):  # the fused attention kernels have no double backward
            return meta_gradient(model, loss, meta_loss, mixture, moved, self.lookahead)


def restricted(model: nn.Module, eta: Mapping[str, float], layers: tuple[str, ...]) -> dict[str, float]:
    """η of the parameters of these modules. By identity: a tied weight is listed once, under its first owner."""
    names = {name for name, _ in model.named_modules()}
    for layer in layers:
        if layer not in names:
            raise unknown("layer", layer, names)
    members = {id(p) for layer in layers for p in model.get_submodule(layer).parameters()}
    chosen = {n: eta[n] for n, p in model.named_parameters() if n in eta and id(p) in members}
    if not chosen:
        raise UserError(f"estimator 'exact': no trainable parameter lies in {', '.join(layers)}")
    return chosen
