"""MixUp's λ ~ Beta(α, α), drawn for each batch or for each sample."""

import torch
from torch import Tensor

from metamixup.mixing import Pairs
from metamixup.policy.policy import Policy


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
    """λ ~ Beta(α, α); `per="batch"` gives all pairs of a step one λ, as Zhang et al. do."""

    def __init__(self, alpha: float = 1.0, per: str = "sample"):
        if alpha <= 0:
            raise ValueError(f"Beta(α, α) needs α > 0, not {alpha}")
        if per not in ("batch", "sample"):
            raise ValueError(f"λ is drawn per 'batch' or per 'sample', not {per!r}")
        self.alpha, self.per = alpha, per

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        if self.per == "batch":
            return sample_beta(self.alpha, self.alpha, 1, generator).expand(len(pairs.partner)).clone()
        return pairs.drawn(lambda n: sample_beta(self.alpha, self.alpha, n, generator))
