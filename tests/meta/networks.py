"""Small networks and problems that the tests of the meta stage share."""

import copy

import torch
from torch import Tensor, nn

from metamixup.mixing import Mixture, soft_cross_entropy, soft_labels


def smooth_net(dropout: float = 0.0, norm: bool = True) -> nn.Module:
    """A smooth network in float64, so that central differences are a fair judge."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4) if norm else nn.Identity(),
        nn.Softplus(),
        nn.Dropout(dropout),
        nn.Flatten(),
        nn.Linear(4 * 9, 6),
        nn.BatchNorm1d(6) if norm else nn.Identity(),
        nn.Tanh(),
        nn.Linear(6, 3),
    ).double()


class Problem:
    """A batch, its partners, λ and a meta batch, with the two losses that estimators take."""

    def __init__(self, n: int = 8, m: int = 5, seed: int = 1, classes: int = 3, shape: tuple[int, ...] = (2, 5, 5)):
        generator = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, *shape, generator=generator, dtype=torch.float64)
        soft = torch.rand(n, classes, generator=generator, dtype=torch.float64)
        self.y = soft / soft.sum(1, keepdim=True)
        self.partner = torch.randperm(n, generator=generator)
        self.lam = torch.rand(n, generator=generator, dtype=torch.float64)
        self.x_meta = torch.randn(m, *shape, generator=generator, dtype=torch.float64)
        self.y_meta = soft_labels(torch.randint(0, classes, (m,), generator=generator), classes, torch.float64)

    @property
    def mixture(self) -> Mixture:
        return Mixture(self.lam, self.partner)

    def loss(self, net, mixture: Mixture) -> Tensor:
        return soft_cross_entropy(net(mixture.inputs(self.x)), mixture.labels(self.y))

    def meta_loss(self, net) -> Tensor:
        return soft_cross_entropy(net(self.x_meta), self.y_meta)

    def objective(self, model: nn.Module, lam: Tensor, eta: dict[str, float]) -> Tensor:
        """The meta loss after a real SGD step of a copy: what every estimator differentiates, the plain way."""
        twin = copy.deepcopy(model)
        self.loss(twin, Mixture(lam, self.partner)).backward()
        with torch.no_grad():
            for name, p in twin.named_parameters():
                if p.grad is not None and name in eta:
                    p -= eta[name] * p.grad
        return self.meta_loss(twin).detach()

    def central_differences(self, model: nn.Module, eta: dict[str, float], h: float = 1e-5) -> Tensor:
        grad = torch.zeros_like(self.lam)
        for i in range(len(self.lam)):
            step = torch.zeros_like(self.lam)
            step[i] = h
            up, down = (self.objective(model, self.lam + s, eta) for s in (step, -step))
            grad[i] = (up - down) / (2 * h)
        return grad


def relative_error(a: Tensor, b: Tensor) -> float:
    return float((a - b).norm() / b.norm())
