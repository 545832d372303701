"""One λ for every pair. λ = 1 is training without mixing."""

import torch
from torch import Tensor

from metamixup.mixing import Pairs
from metamixup.policy.policy import Policy


class Fixed(Policy):
    """The same λ always.

    lam: in [0, 1]; 1 leaves every sample as it is.
    """

    def __init__(self, lam: float = 1.0):
        if not 0 <= lam <= 1:
            raise ValueError(f"λ lies in [0, 1], not {lam}")
        self.lam = lam

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        return torch.full((len(pairs.partner),), self.lam)
