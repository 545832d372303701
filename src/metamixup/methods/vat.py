"""Virtual adversarial training (Miyato et al., 2018), alone or with entropy minimisation (VAT+EM)."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from metamixup import world
from metamixup.methods.batch_norm import frozen_statistics, predict
from metamixup.methods.blocks import joined
from metamixup.methods.method import Batch, Net
from metamixup.methods.ramp import Ramp
from metamixup.methods.semi_supervised import SemiSupervised
from metamixup.mixing import Mixture, soft_cross_entropy


def divergence(p: Tensor, logits: Tensor) -> Tensor:
    """KL(p ‖ softmax(logits)), the mean over the batch. p, logits: (B, C)."""
    return F.kl_div(logits.log_softmax(1), p, reduction="batchmean")


def entropy(logits: Tensor) -> Tensor:
    """The mean entropy of the predictions. logits: (B, C)."""
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()


def unit(d: Tensor) -> Tensor:
    """Each sample's tensor at Euclidean norm 1; a zero stays zero."""
    flat = d.flatten(1)
    # Divided by its largest entry first: squares of tiny gradients would underflow.
    flat = flat / flat.abs().amax(1, keepdim=True).clamp_min(torch.finfo(d.dtype).tiny)
    return F.normalize(flat, dim=1).view_as(d)


def adversarial(
    net: Net, x: Tensor, p: Tensor, generator: torch.Generator, epsilon: float, xi: float, iterations: int
) -> Tensor:
    """The direction of norm ε in which the predictions p for x change most, (B, …), found by power iteration."""
    shape = (len(x) * world.size(), *x.shape[1:])
    d = unit(world.part(torch.randn(shape, generator=generator, dtype=x.dtype))).to(x.device)
    for _ in range(iterations):
        with torch.enable_grad():
            r = (xi * d).requires_grad_()
            (gradient,) = torch.autograd.grad(divergence(p, net(x + r)), r)
        d = unit(gradient)
    return epsilon * d


class VAT(SemiSupervised):
    """epsilon, xi, iterations: of the perturbation; entropy_weight: of entropy minimisation, which is not ramped
    (0: plain VAT). The sources' ξ = 1e-6 drowns in float32's rounding: it costs a sixth of the divergence gained."""

    def __init__(
        self,
        weight: float = 0.3,
        epsilon: float = 6.0,
        xi: float = 1e-3,
        iterations: int = 1,
        entropy_weight: float = 0.0,
        ramp: Ramp | None = None,
    ):
        if epsilon <= 0 or xi <= 0 or iterations < 1:
            raise ValueError(f"VAT needs ε > 0, ξ > 0 and an iteration, not {epsilon}, {xi} and {iterations}")
        super().__init__(weight, ramp or Ramp("exponential"))
        self.epsilon, self.xi, self.iterations, self.entropy_weight = epsilon, xi, iterations, entropy_weight

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        """The perturbation belongs to θ, where both the meta stage and the real step take their gradient."""
        self.note(batch)
        u = joined(batch.u)
        with torch.autocast(u.device.type, enabled=False):  # ξ drowns in the rounding of half as many digits
            p = predict(model, u)
            r = adversarial(frozen_statistics(model), u, p, generator, self.epsilon, self.xi, self.iterations)
        return replace(batch, guesses=p, perturbation=r)

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        n, u = len(batch.x), joined(batch.u)
        logits = net(joined(mixture.inputs(batch.x), u))
        # A pass of its own that updates no statistics: adversarial samples are not what BatchNorm meets at test time.
        perturbed = frozen_statistics(net)(u + joined(batch.perturbation))
        terms = {
            "supervised": soft_cross_entropy(logits[:n], mixture.labels(batch.y)),
            "consistency": self.unlabelled_weight(batch) * divergence(joined(batch.guesses), perturbed),
        }
        if self.entropy_weight:
            terms["entropy"] = self.entropy_weight * entropy(logits[n:])
        return terms
