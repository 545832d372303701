"""Where λ comes from in a run: the policy, its control, the estimator of ∇λ and the stage that joins them."""

from typing import Any

from metamixup.data import DataSet
from metamixup.engine import checkpoint
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.meta import Estimator, MetaStage
from metamixup.policy import Policy, Replay, Reverse, Shuffle
from metamixup.settings.build.refused import built
from metamixup.settings.choices import EstimatorSettings
from metamixup.settings.schema import Settings


def build_stage(settings: Settings, found: DataSet) -> MetaStage:
    policy = built(lambda: make_policy(settings, found.shape[1:]))
    estimator = built(lambda: make_estimator(settings.estimator, policy))
    how = settings.estimator
    return MetaStage(policy, estimator if policy.learned else None, how.every, how.fraction)


def make_policy(settings: Settings, image_size: tuple[int, int]) -> Policy:
    policy: Policy = settings.policy.make(image_size=image_size)
    if settings.control is None:
        return policy
    if not policy.learned:
        raise UserError(f"method {settings.full_method!r}: policy {settings.policy.name!r} learns nothing to control")
    if settings.control == "replay":
        return Replay(policy, _final_policy(settings.replay))
    return Reverse(policy) if settings.control == "reverse" else Shuffle(policy)


def _final_policy(folder: str | None) -> dict[str, Any]:
    """The state of the policy at the end of the run in that folder."""
    if folder is None:
        raise UserError("control 'replay' needs the run folder whose policy it serves (--set replay=FOLDER)")
    found, _ = checkpoint.newest(RunFolder(folder).checkpoints)
    if found is None:
        raise UserError(f"replay: {folder} holds no checkpoint, so there is no policy to serve again")
    return found.state["training"]["stage"]["policy"]


def make_estimator(settings: EstimatorSettings, policy: Policy) -> Estimator:
    if "evidence" in (settings.name, policy.estimator) and settings.name != policy.estimator:
        raise UserError(
            f"this policy learns from estimator {policy.estimator!r}, not from {settings.name!r}; leave it out"
        )
    estimator: Estimator = settings.make()
    return estimator


def learns(settings: Settings) -> bool:
    """Does a run with these settings learn λ from its meta set?"""
    policy: Policy = settings.policy.make(image_size=(1, 1))
    return policy.learned
