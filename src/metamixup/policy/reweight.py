"""Learning to reweight (Ren et al. 2018): the meta-gradient weighs whole samples instead of blending pairs.

A rival with the same meta set, made of the same parts: what is refined is one weight a sample in place of one λ a pair.
The weighted loss is `methods.supervised.Reweighted`. Ren et al. take the meta-gradient at zero weights, where θ′ = θ:
an estimator with `lookahead=False` is the same, since the loss is linear in the weights.
"""

import torch
from torch import Tensor

from metamixup import world
from metamixup.mixing import Pairs
from metamixup.policy.policy import Policy


class Reweight(Policy):
    """w_i ∝ max(−∂L_meta/∂w_i, 0), adding up to one; uniform where no sample helps the meta loss."""

    learned = True

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        n = len(pairs.partner)
        return torch.full((n,), 1 / n)

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        helpful = (-grad).clamp(min=0)
        total = world.mean(helpful.sum())  # each process's loss is then weighted with N, and their mean is the sum
        return torch.where(total > 0, helpful / total, lam)
