"""An exponential moving average of a network's weights: Mean Teacher's teacher, the weights MixMatch evaluates."""

import copy

import torch
from torch import nn


class EMA:
    """θ̄ ← d·θ̄ + (1−d)·θ after each step. Buffers (BatchNorm's running statistics) are copied, not averaged.

    warmup: d is at most (1+t)/(10+t) at step t, so that a short run forgets its random start.
    """

    def __init__(self, model: nn.Module, decay: float, warmup: bool = True):
        if not 0 <= decay < 1:
            raise ValueError(f"an average's decay lies in [0, 1), not {decay}")
        self.decay, self.warmup = decay, warmup
        self.module = copy.deepcopy(model).requires_grad_(False)

    def decay_at(self, step: int) -> float:
        return min(self.decay, (1 + step) / (10 + step)) if self.warmup else self.decay

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """step counts from 0: nothing but the weights has to be saved."""
        weight = 1 - self.decay_at(step)
        for mean, value in zip(self.module.parameters(), model.parameters(), strict=True):
            mean.lerp_(value, weight)
        for buffer, source in zip(self.module.buffers(), model.buffers(), strict=True):
            buffer.copy_(source)
