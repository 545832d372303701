"""Where λ comes from: what every policy offers. A plain policy only draws; a learned one is also refined."""

from typing import Any

import torch
from torch import Tensor

from metamixup.mixing import Mixture, Pairs


class Policy:
    """A source of λ. Subclasses give `draw`; learned ones set `learned` and give `refine`."""

    learned = False
    default_estimator: str | None = "head"  # of ∇λ, by name: serves a learned policy unless another is asked for
    every = 1  # it learns on each k-th step, unless another number is asked for
    by_class = False  # does it look at classes, so that targets without any are not for it?

    def see(self, rate: float) -> None:
        """Told the learning rate of each step: as a run comes to rest a policy may blend less."""

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        """The first λ of each pair, (B,). It may carry a graph to the policy's own parameters."""
        raise NotImplementedError

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        """λ after the meta-gradient ∇λ has been seen, (B,). What a policy keeps across steps it learns here."""
        raise NotImplementedError

    def mixture(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        """The blend that these λ stand for."""
        return Mixture(lam, pairs.partner)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass
