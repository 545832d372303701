"""The learned λ of Algorithm 1: one gradient step from a random start, thrown away after its batch (Eqs. 12 and 13).

The paper contradicts itself on the way back to [0, 1], so the projection is a choice: `paper` (a sigmoid of λ − α∇,
Eq. 13 to the letter), `clip` (Algorithm 1, clamped), `logit` (λ = sigmoid(w), the step is taken on w).
"""

import torch
from torch import Tensor

from metamixup import world
from metamixup.mixing import Pairs
from metamixup.policy.beta import Beta
from metamixup.policy.policy import Policy

PROJECTIONS = ("paper", "clip", "logit")


def unit_rms(grad: Tensor) -> Tensor:
    """The gradient scaled to a root mean square of one over the batch; a zero gradient stays zero."""
    rms = world.mean(grad.square().mean()).sqrt()
    return torch.where(rms > 0, grad / rms, torch.zeros_like(grad))


def descend(lam: Tensor, grad: Tensor, step_size: float, projection: str, normalise: bool) -> Tensor:
    """λ* of one gradient step. lam, grad: (B,)."""
    inner = lam.detach().clamp(1e-6, 1 - 1e-6)
    if projection == "logit":
        grad = grad * inner * (1 - inner)  # ∇w = ∇λ · dλ/dw
    step = step_size * (unit_rms(grad) if normalise else grad)
    if projection == "paper":
        return torch.sigmoid(lam.detach() - step)
    if projection == "clip":
        return (lam.detach() - step).clamp(0, 1)
    # A zero step must leave λ as it is, its ends 0 and 1 included.
    return torch.where(step == 0, lam.detach(), torch.sigmoid(torch.logit(inner) - step))


class Learned(Policy):
    """λ0 ~ Beta(a, a), then λ* = projection(λ0 − α∇λ).

    step_size: α of the step.
    projection: `paper`, `clip` or `logit`, how λ stays in [0, 1].
    normalise: take the gradient at unit RMS over the batch.
    alpha: a of the first λ; 1 is U(0, 1).
    per: "sample" or "batch", what has a first λ of its own.
    """

    learned = True

    def __init__(
        self,
        step_size: float = 1.0,
        projection: str = "logit",
        normalise: bool = True,
        alpha: float = 1.0,
        per: str = "sample",
    ):
        if projection not in PROJECTIONS:
            raise ValueError(f"projection is one of {', '.join(PROJECTIONS)}, not {projection!r}")
        if step_size < 0:
            raise ValueError(f"step_size is at least 0, not {step_size}")
        self.step_size, self.projection, self.normalise = step_size, projection, normalise
        self.initial = Beta(alpha, per)

    @classmethod
    def paper(cls) -> "Learned":
        """The paper to the letter: Eq. 13, α = 5, the raw gradient, λ0 uniform."""
        return cls(step_size=5.0, projection="paper", normalise=False)

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        return self.initial.draw(pairs, generator)

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        return descend(lam, grad, self.step_size, self.projection, self.normalise)
