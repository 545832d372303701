"""∇λ without second derivatives: the change of ∇λ ℓ(θ, λ) when θ is moved along ηv.

A small move is poor, since ReLU and max-pool have kinks; a large one smooths over them. Hence the size of the move is
given as the norm ‖εηv‖ and not as ε.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.meta.lookahead import ahead, gradient, same_noise, scaled, trainable
from metamixup.mixing import Mixture
from metamixup.network import Parameters, leaving_no_trace, network


class FiniteDifference:
    """∇λ by differences along the meta-gradient.

    step: ‖εηv‖, how far θ is moved;
    two_sided: of second order; False saves a pass;
    lookahead: False takes v at θ, not at θ′.
    """

    def __init__(self, step: float = 0.3, two_sided: bool = True, lookahead: bool = True):
        if step <= 0:
            raise ValueError(f"the step of a finite difference is positive, not {step}")
        self.step, self.two_sided, self.lookahead = step, two_sided, lookahead

    def __call__(
        self, model: nn.Module, loss: Loss, meta_loss: MetaLoss, mixture: Mixture, eta: Mapping[str, float]
    ) -> Tensor:
        with leaving_no_trace(model), same_noise(model) as rewind:
            mixture = mixture.with_gradient()
            theta = trainable(model, eta)
            at = theta
            if self.lookahead:
                g = gradient(loss(network(model, theta), mixture), theta)
                at = ahead(theta, world.mean_all(g), eta)
            u = scaled(world.mean_all(gradient(meta_loss(network(model, at)), at)), eta)
            norm = torch.stack([value.norm() for value in u.values()]).norm()
            if norm == 0:
                return torch.zeros_like(mixture.lam)
            epsilon = float(self.step / norm)

            def slope(amount: float) -> Tensor:
                """∇λ ℓ at θ + amount·ηv, every pass with one dropout mask."""
                rewind()
                moved: Parameters = {n: p.detach() + amount * u[n] for n, p in theta.items()}
                (grad,) = torch.autograd.grad(
                    loss(network(model, moved), mixture), mixture.lam, allow_unused=True, materialize_grads=True
                )
                return grad / world.size()  # of the mean over the processes

            if self.two_sided:
                return -(slope(epsilon) - slope(-epsilon)) / (2 * epsilon)
            return -(slope(epsilon) - slope(0.0)) / epsilon
