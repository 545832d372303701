"""Controls that keep a learned policy honest: a gain that they share is not a gain of what was learned.

`Reverse` learns from the gradient with its sign turned round; `Shuffle` learns as it should but gives what it learned
to other samples of the batch; `Replay` learns nothing and serves what another run ended with.
"""

from typing import Any

import torch
from torch import Tensor

from metamixup.meta.stage import Stage, Uncontrolled
from metamixup.mixing import Mixture, Pairs
from metamixup.policy import Policy


class Control(Uncontrolled, Policy):
    """A learned policy, or a stage of its own, of which one thing is changed. Everything else is forwarded.

    policy: the policy, or the stage, which is changed in place.
    """

    learned = True

    def __init__(self, policy: Policy | Stage):
        if not policy.learned:
            raise ValueError(f"a control belongs to a learned policy; {type(policy).__name__} learns nothing")
        self.policy: Any = policy
        self.by_class, self.every, self.default_estimator = policy.by_class, policy.every, policy.default_estimator
        if isinstance(policy, Stage):
            policy.control, policy.learned = self, self.learned

    def see(self, rate: float) -> None:
        self.policy.see(rate)

    def draw(self, pairs: Pairs, generator: torch.Generator) -> Tensor:
        return self.policy.draw(pairs, generator)

    def refine(self, lam: Tensor, grad: Tensor, pairs: Pairs) -> Tensor:
        return self.policy.refine(lam, self.signal(grad), pairs)

    def mixture(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        return self.policy.mixture(self.dealt(lam, generator), pairs, generator)

    def state_dict(self) -> dict[str, Any]:
        return self.policy.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.policy.load_state_dict(state)


class Reverse(Control):
    """λ climbs the meta loss instead of descending it."""

    def signal(self, found: Any) -> Any:
        return -found


class Shuffle(Control):
    """What was learned is permuted over the batch: the same distribution, but no pair has its own λ, and no sample its
    own trust."""

    def dealt(self, values: Tensor, generator: torch.Generator) -> Tensor:
        return values[torch.randperm(len(values), generator=generator).to(values.device)]


class Replay(Control):
    """Nothing is learned any more. It is the control for a policy that is one distribution for the whole data set,
    which no permutation can change.

    policy: of the same kind as the one that was learned;
    final: the state of that policy at the end of another run.
    """

    learned = False

    def __init__(self, policy: Policy | Stage, final: dict[str, Any]):
        super().__init__(policy)
        policy.load_state_dict(final)


CONTROLS = ("reverse", "shuffle", "replay")
