"""Algorithm 1 of the paper: MetaMixUp for supervised learning. Its lines stand as comments.

Line 8, the real step, is the training loop's own: it needs only the mixture that comes back from here.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from metamixup.meta.estimator import Estimator, Loss, MetaLoss, Stateful
from metamixup.meta.stage import Stage
from metamixup.mixing import Mixture, Pairs
from metamixup.policy import Policy


class MetaStage(Stage):
    """Each step's mixture: drawn by the policy and, on every k-th step, refined by the meta-gradient.

    policy: where λ comes from, and what becomes of ∇λ;
    estimator: of ∇λ; a policy that is not learned needs none;
    every: λ is refined on each k-th step only;
    fraction: the share of the batch whose λ is refined; the others stay as they were drawn.
    """

    def __init__(self, policy: Policy, estimator: Estimator | None = None, every: int = 1, fraction: float = 1.0):
        self.pace(every, fraction)
        if policy.learned and estimator is None:
            raise ValueError(f"{type(policy).__name__} learns λ, so it needs an estimator of ∇λ")
        self.policy, self.estimator = policy, estimator
        self.learned, self.by_class = policy.learned, policy.by_class

    def see(self, rate: float) -> None:
        self.policy.see(rate)

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
        lam = self.policy.draw(pairs, generator)  # line 2: random initialise λ
        lam = lam.to(pairs.labels.device, torch.promote_types(lam.dtype, pairs.labels.dtype))
        if due and self.estimator is not None and meta_loss is not None:
            n = math.ceil(self.fraction * len(lam))
            part = pairs.first(n)
            # lines 3–5: Φ → Φ′, blend with λ, θ′ = θ − η∇θ ℓ(Φ′(θ), D̃)
            # line 6: ∇λ ℓ(Φ′(θ′), D_v), and λ* = λ − α∇λ
            grad = self.estimator(model, loss, meta_loss, Mixture(lam[:n], part.partner), eta)
            if self.usable(grad):
                lam = torch.cat([self.policy.refine(lam[:n], grad, part), lam[n:]])
        return self.policy.mixture(lam.detach(), pairs, generator)  # line 7: blend again with λ*

    def state_dict(self) -> dict[str, Any]:
        estimator: dict[str, Any] = self.estimator.state_dict() if isinstance(self.estimator, Stateful) else {}
        return {
            "steps": self.steps,
            "ignored": self.ignored,
            "policy": self.policy.state_dict(),
            "estimator": estimator,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps, self.ignored = int(state["steps"]), int(state.get("ignored", 0))
        self.policy.load_state_dict(state["policy"])
        if isinstance(self.estimator, Stateful):
            self.estimator.load_state_dict(state["estimator"])
