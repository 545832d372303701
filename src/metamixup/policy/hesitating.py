"""MixUp with the schedule of *Mixup Without Hesitation* (Yu et al. 2021): all pairs are blended to 60 % of the run,
those of every other epoch to 90 %, then fewer and fewer."""

from typing import Any

import torch
from torch import Tensor

from metamixup.mixing import Pairs
from metamixup.policy.beta import Beta

ALL, ALTERNATE = 0.6, 0.9  # shares of the run where the first and the second part end


class Hesitating(Beta):
    """λ ~ Beta(α, α), or no blend at all.

    alpha: of the Beta distribution;
    per: "sample" or "batch", what has a λ of its own;
    steps, steps_per_epoch: of the run.
    """

    def __init__(self, alpha: float = 1.0, per: str = "sample", steps: int = 1, steps_per_epoch: int = 1):
        super().__init__(alpha, per)
        self.steps, self.steps_per_epoch, self.step = steps, steps_per_epoch, 0

    def blended(self, step: int) -> float:
        """The share of pairs that are blended in that step."""
        progress = step / self.steps
        if progress < ALL:
            return 1.0
        if progress < ALTERNATE:
            return float(step // self.steps_per_epoch % 2 == 0)
        return max(0.0, (1 - progress) / (1 - ALTERNATE))

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """The first sample of a pair that is not blended stays alone."""
        share, self.step = self.blended(self.step), self.step + 1
        lam = super().draw(pairs, generator)
        alone = pairs.drawn(lambda n: torch.rand(n, generator=generator)) >= share
        return torch.where(alone, torch.ones_like(lam), lam)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state.items() if key != "step"})
        self.step = int(state["step"])
