"""MixUp's λ ~ Beta(α, α), drawn for each batch or for each sample."""

from typing import Any

import torch
from torch import Tensor

from metamixup.mixing import Pairs
from metamixup.policy.policy import Policy
from metamixup.policy.thinning import Settling, thinned


def sample_beta(a: float, b: float, n: int, generator: torch.Generator) -> Tensor:
    """n draws of Beta(a, b), (n,). torch.distributions takes no generator, so two gammas are drawn here."""
    x, y = torch.stack(
        [
            torch._standard_gamma(torch.full((n,), a, dtype=torch.float64), generator=generator),
            torch._standard_gamma(torch.full((n,), b, dtype=torch.float64), generator=generator),
        ]
    )
    # For a tiny α both gammas underflow to the smallest number; the limit of Beta(α, α) is a fair coin.
    coin = torch.randint(0, 2, (n,), generator=generator, dtype=torch.float64)
    drawn = torch.maximum(x, y) > torch.finfo(torch.float64).tiny
    return torch.where(drawn, x / (x + y), coin).float()


class Beta(Policy):
    """λ ~ Beta(α, α); `per="batch"` gives all pairs of a step one λ, as Zhang et al. do.

    share: of the pairs, that are blended;
    settle: the share of its peak below which the learning rate thins the blends out; 0 for never.
    """

    def __init__(self, alpha: float = 1.0, per: str = "sample", share: float = 1.0, settle: float = 0.0):
        if alpha <= 0:
            raise ValueError(f"Beta(α, α) needs α > 0, not {alpha}")
        if per not in ("batch", "sample"):
            raise ValueError(f"λ is drawn per 'batch' or per 'sample', not {per!r}")
        if not 0 <= share <= 1:
            raise ValueError(f"the share of pairs that are blended lies in [0, 1], not {share}")
        self.alpha, self.per, self.share, self.settling = alpha, per, share, Settling(settle)

    def see(self, rate: float) -> None:
        self.settling.see(rate)

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        return thinned(self._drawn(pairs, generator), self.share * self.settling.left, pairs, generator)

    def _drawn(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        if self.per == "batch":
            return sample_beta(self.alpha, self.alpha, 1, generator).expand(len(pairs.partner)).clone()
        return pairs.drawn(lambda n: sample_beta(self.alpha, self.alpha, n, generator))

    def state_dict(self) -> dict[str, Any]:
        return self.settling.state_dict() if self.settling.settle else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state:
            self.settling.load_state_dict(state)
