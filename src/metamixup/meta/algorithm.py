"""Algorithm 1 of the paper: MetaMixUp for supervised learning. Its lines stand as comments.

Line 8, the real step, is the training loop's own: it needs only the mixture that comes back from here.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from metamixup.meta.classifier import blended_for
from metamixup.meta.estimator import Estimator, MetaLoss, Stateful
from metamixup.meta.lookahead import Net
from metamixup.mixing import Mixture, Pairs
from metamixup.policy import Policy

Loss = Callable[[Net, Mixture], Tensor]


class MetaStage:
    """Gives each step its mixture: drawn by the policy and, on every k-th step, refined by the meta-gradient.

    fraction: the share of the batch that is learned from; the other λ of a step stay as they were drawn.
    """

    def __init__(self, policy: Policy, estimator: Estimator | None = None, every: int = 1, fraction: float = 1.0):
        if policy.learned and estimator is None:
            raise ValueError(f"{type(policy).__name__} learns λ, so it needs an estimator of ∇λ")
        if every < 1:
            raise ValueError(f"λ is refined on every k-th step with k ≥ 1, not {every}")
        if not 0 < fraction <= 1:
            raise ValueError(f"λ is learned from a fraction of the batch in (0, 1], not {fraction}")
        self.policy, self.estimator, self.every, self.fraction = policy, estimator, every, fraction
        self.steps = 0

    @property
    def due(self) -> bool:
        """Will the next call refine λ (and so need a meta batch)?"""
        return self.policy.learned and self.steps % self.every == 0

    def __call__(
        self,
        model: nn.Module,
        loss: Loss,
        meta_loss: MetaLoss,
        pairs: Pairs,
        eta: Mapping[str, float],
        generator: torch.Generator,
    ) -> Mixture:
        due, self.steps = self.due, self.steps + 1
        if due:
            self.policy.settle(max(eta.values(), default=0.0))
        lam = self.policy.draw(pairs, generator)  # line 2: random initialise λ
        lam = lam.to(pairs.labels.device, torch.promote_types(lam.dtype, pairs.labels.dtype))

        part = pairs.first(math.ceil(self.fraction * len(lam)))

        def virtual(net: Net, lam: Tensor) -> Tensor:
            return loss(net, blended_for(net, self.policy.virtual(lam, part, generator)))

        if due and self.estimator is not None:
            n = len(part.partner)
            # lines 3–5: Φ → Φ′, blend with λ, θ′ = θ − η∇θ ℓ(Φ′(θ), D̃)
            # line 6: ∇λ ℓ(Φ′(θ′), D_v), and λ* = λ − α∇λ
            grad = self.estimator(model, virtual, meta_loss, lam[:n], eta)
            lam = torch.cat([self.policy.refine(lam[:n], grad, part), lam[n:]])
        lam = self.policy.serve(lam.detach(), pairs, generator)
        return self.policy.mixture(lam, pairs, generator)  # line 7: blend again with λ*

    def state_dict(self) -> dict[str, Any]:
        estimator: dict[str, Any] = self.estimator.state_dict() if isinstance(self.estimator, Stateful) else {}
        return {"steps": self.steps, "policy": self.policy.state_dict(), "estimator": estimator}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps = int(state["steps"])
        self.policy.load_state_dict(state["policy"])
        if isinstance(self.estimator, Stateful):
            self.estimator.load_state_dict(state["estimator"])
