"""From a policy, a stage of its own or a control of either to the stage that a training loop calls."""

from metamixup.errors import UserError
from metamixup.meta.algorithm import MetaStage
from metamixup.meta.controls import Control
from metamixup.meta.estimator import Estimator
from metamixup.meta.stage import Stage
from metamixup.policy import Policy


def make_stage(policy: Policy | Stage, estimator: Estimator | None = None) -> Stage:
    """A policy needs Algorithm 1 and, where it is learned, an estimator of ∇λ; a stage of its own needs neither."""
    found = policy.policy if isinstance(policy, Control) and isinstance(policy.policy, Stage) else policy
    if isinstance(found, Policy):
        return MetaStage(found, estimator, found.every)
    if estimator is not None:
        raise UserError(f"{type(found).__name__} finds its own evidence and takes no estimator of ∇λ; leave it out")
    return found
