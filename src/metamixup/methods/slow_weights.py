"""Look-ahead (Zhang et al. 2019): every few steps the trained weights jump to their own running average."""

import torch
from torch import nn

from metamixup.methods.ema import EMA

DECAY = 0.95**5  # at the end of the run; it rises with the cube of the run's progress, as in hlb-CIFAR10


class SlowWeights(EMA):
    """θ̄ ← d·θ̄ + (1−d)·θ and then θ ← θ̄, on every `every`-th step and on the last of all `steps`.

    BatchNorm's running statistics are averaged too, so that they fit the weights that they are used with.
    """

    def __init__(self, model: nn.Module, every: int, steps: int):
        super().__init__(model, DECAY, warmup=False)
        self.every, self.steps = every, steps

    def decay_at(self, step: int) -> float:
        return self.decay * (step / self.steps) ** 3

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        if (step + 1) % self.every and step + 1 < self.steps:
            return
        weight, own = 1 - self.decay_at(step), model.state_dict()
        for name, mean in self.module.state_dict().items():
            if mean.is_floating_point():
                own[name].copy_(mean.lerp_(own[name], weight))
