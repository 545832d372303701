"""Controls that keep a learned policy honest: a gain that they share is not a gain of what was learned.

`Reverse` learns from the gradient with its sign turned round; `Shuffle` learns as it should but deals the λ of a batch
out to other pairs; `Replay` serves, from the first step on, the distribution that another run ended with.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from metamixup.mixing import Mixture, Pairs
from metamixup.policy.policy import Policy


class Control(Policy):
    """A learned policy seen from outside as it is; subclasses change one thing."""

    learned = True

    def __init__(self, policy: Policy):
        if not policy.learned:
            raise ValueError(f"a control belongs to a learned policy; {type(policy).__name__} learns nothing")
        self.policy, self.estimator, self.every = policy, policy.estimator, policy.every

    def settle(self, rate: float) -> None:
        self.policy.settle(rate)

    def resize(self, image_size: tuple[int, ...]) -> None:
        self.policy.resize(image_size)

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        return self.policy.draw(pairs, generator)

    def virtual(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        return self.policy.virtual(lam, pairs, generator)

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        return self.policy.refine(lam, grad, pairs)

    def serve(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Tensor:
        return self.policy.serve(lam, pairs, generator)

    def mixture(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        return self.policy.mixture(lam, pairs, generator)

    def deal(self, order: Tensor) -> None:
        self.policy.deal(order)

    def state_dict(self) -> dict[str, Any]:
        return self.policy.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.policy.load_state_dict(state)


class Reverse(Control):
    """λ climbs the meta loss instead of descending it."""

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        return self.policy.refine(lam, -grad, pairs)


class Shuffle(Control):
    """What was learned, dealt out anew over the batch: the same distribution, but no pair has its own λ, and no sample
    its own memory."""

    def serve(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Tensor:
        served = self.policy.serve(lam, pairs, generator)
        return served[torch.randperm(len(served), generator=generator).to(served.device)]

    def mixture(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        order = torch.randperm(len(pairs.labels), generator=generator).to(pairs.labels.device)
        index = None if pairs.index is None else pairs.index[order]
        self.policy.deal(order)
        return self.policy.mixture(lam, replace(pairs, index=index, labels=pairs.labels[order]), generator)


class Replay(Control):
    """Nothing is learned any more. It is the control for a policy that is one distribution for the whole data set,
    which no permutation can change."""

    learned = False

    def __init__(self, policy: Policy, final: dict[str, Any]):
        """final: the state of such a policy at the end of another run."""
        super().__init__(policy)
        policy.load_state_dict(final)


CONTROLS = ("reverse", "shuffle", "replay")
