"""Meta-Weight-Net (Shu et al. 2019): a small network turns the loss of a sample into its weight, and learns from the
meta set how.

A rival made of the product's own evidence. With w = V(losses; Θ), adding up to one, a virtual step of the classifier
changes the meta loss by −η Σ w_i gain_i, so ∇Θ needs no second derivative of the network. V (one hidden layer of 100)
and its optimizer are the source's; the source looks ahead with the whole network. The weighted loss is
`methods.supervised.Reweighted`.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.meta.stage import Stage
from metamixup.mixing import Mixture, Pairs
from metamixup.trust.evidence import find_evidence


class WeightNet(Stage):
    """hidden: units of V; rate: of its optimizer, Adam; decay: of its weights."""

    by_class = True
    default_estimator = None

    def __init__(self, hidden: int = 100, rate: float = 1e-3, decay: float = 1e-4):
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # every process begins with the same V
            self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, 1), nn.Sigmoid())
        self.optimizer = torch.optim.Adam(self.net.parameters(), rate, weight_decay=decay)

    def __call__(
        self,
        model: nn.Module,
        loss: Loss,
        meta_loss: MetaLoss | None,
        pairs: Pairs,
        eta: Mapping[str, float],
        generator: torch.Generator,
    ) -> Mixture:
        due, self.steps = self.due, self.steps + 1
        self.net.to(pairs.labels.device)
        lam = torch.ones(len(pairs.labels), device=pairs.labels.device)
        shown, judged_by = Mixture.unblended(lam), meta_loss if due else None
        batch, meta = find_evidence(model, loss, judged_by, shown, pairs.labels.shape[1])
        losses = batch.losses(pairs.labels)
        if meta is not None and self.usable(batch.gain, losses):
            self.learn(losses, self.control.signal(batch.gain))
        weights = self.weights(losses.nan_to_num(0.0, 0.0, 0.0))
        return Mixture(self.control.dealt(weights, generator), pairs.partner)

    @torch.no_grad()
    def weights(self, losses: Tensor) -> Tensor:
        """(B,) adding up to one in the mean over the processes."""
        values: Tensor = self.net(losses[:, None].float())[:, 0]
        return values / world.mean(values.sum()).clamp_min(1e-12)

    def learn(self, losses: Tensor, gain: Tensor) -> None:
        """One step of Θ towards a lower meta loss. losses, gain: (B,)."""
        with torch.enable_grad():
            values = self.net(losses[:, None].float())[:, 0]
            ahead = -(values * gain).sum() / values.sum().clamp_min(1e-12)
            gradients = torch.autograd.grad(ahead, list(self.net.parameters()))
        for parameter, gradient in zip(self.net.parameters(), gradients, strict=True):
            parameter.grad = world.mean(gradient)
        self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        moments = {str(k): dict(state) for k, state in self.optimizer.state_dict()["state"].items()}
        return {"net": self.net.state_dict(), "moments": moments, "steps": self.steps, "ignored": self.ignored}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        moments = {int(k): {name: value.clone() for name, value in own.items()} for k, own in state["moments"].items()}
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": moments})
        self.steps, self.ignored = int(state["steps"]), int(state["ignored"])
