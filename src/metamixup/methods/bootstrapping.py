"""Dynamic bootstrapping inside MixUp (Arazo et al. 2019): a mixture of two Beta distributions over the losses of all
samples says how likely each label is wrong; a target is the label or the network's own hard answer by that probability.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from metamixup import world
from metamixup.methods.method import Batch, Net
from metamixup.methods.running import Remembering, predictions
from metamixup.mixing import Mixture, soft_cross_entropy

ROUNDS = 10


class Bootstrapping(Remembering):
    """start: the share of the run after which answers take the place of labels, 105 of 300 epochs in the source."""

    def __init__(self, start: float = 105 / 300):
        super().__init__()
        self.start = start
        self.betas = torch.zeros(0, 0)  # (2, 3): α, β and weight of the two components, the low losses first
        self.range = (0.0, 1.0)  # of losses

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        assert batch.index is not None
        p = predictions(model, batch)
        losses = -(batch.y.float() * p.clamp_min(1e-8).log()).sum(1)
        index, everyone = world.gathered(batch.index), world.gathered(losses)
        self.rows(index, everyone)
        self.memory[index] = everyone
        if batch.progress < self.start or not len(self.betas):
            return batch
        wrong = wrong_by(self.betas, self._scaled(losses))[:, None].to(batch.y)
        return replace(batch, y=torch.lerp(batch.y, one_hot(p.argmax(1), p.shape[1]).to(batch.y), wrong))

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        return {"supervised": soft_cross_entropy(net(mixture.inputs(batch.x)), mixture.labels(batch.y))}

    def after_epoch(self, epoch: int) -> None:
        known = self.memory[self.memory > 0]
        if len(known) > 1:
            low, high = known.quantile(torch.tensor([0.05, 0.95], device=known.device)).tolist()
            self.range = (low, max(high, low + 1e-6))
            self.betas = fit_betas(self._scaled(known))

    def _scaled(self, losses: Tensor) -> Tensor:
        low, high = self.range
        return ((losses - low) / (high - low)).clamp(1e-4, 1 - 1e-4)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"betas": self.betas, "range": list(self.range)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.betas, self.range = state["betas"].clone(), (float(state["range"][0]), float(state["range"][1]))


def fit_betas(x: Tensor) -> Tensor:
    """Two Beta distributions by expectation–maximisation with weighted moments. x: (N,) in (0, 1); returns (2, 3)."""
    found = torch.tensor([[1.0, 2.0, 0.5], [2.0, 1.0, 0.5]], device=x.device)
    for _ in range(ROUNDS):
        shares = _densities(found, x)
        shares = shares / shares.sum(0).clamp_min(1e-12)
        total = shares.sum(1).clamp_min(1e-12)
        mean = (shares @ x) / total
        variance = (shares * (x - mean[:, None]).square()).sum(1) / total
        common = (mean * (1 - mean) / variance.clamp_min(1e-6) - 1).clamp_min(1e-3)
        found = torch.stack([mean * common, (1 - mean) * common, total / total.sum()], 1)
    return found[found[:, 0].div(found[:, 0] + found[:, 1]).argsort()]


def wrong_by(betas: Tensor, x: Tensor) -> Tensor:
    """(n,) the probability of the component with the high losses."""
    densities = _densities(betas.to(x.device), x)
    return densities[1] / densities.sum(0).clamp_min(1e-12)


def _densities(betas: Tensor, x: Tensor) -> Tensor:
    alpha, beta, weight = betas.clamp_min(1e-3).T
    shape = torch.distributions.Beta(alpha[:, None], beta[:, None])
    return weight[:, None] * shape.log_prob(x[None]).exp()
