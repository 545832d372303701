"""Where λ comes from in a run: the policy, its control, the estimator of ∇λ and the stage that joins them."""

from typing import Any

from metamixup.engine import checkpoint
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.meta import Estimator, Replay, Reverse, Shuffle, Stage, make_stage
from metamixup.policy import Policy
from metamixup.settings.build.refused import built
from metamixup.settings.choices import EstimatorSettings
from metamixup.settings.schema import Settings
from metamixup.settings.section import FACTS


def build_stage(settings: Settings, **facts: Any) -> Stage:
    """facts: what a policy may ask for (`settings.section.FACTS`)."""
    policy = built(lambda: make_policy(settings, **facts))
    estimator = built(lambda: make_estimator(settings.estimator, policy))
    stage = make_stage(policy, estimator if policy.learned else None)
    stage.pace(settings.estimator.every, settings.estimator.fraction)
    return stage


def make_policy(settings: Settings, **facts: Any) -> Policy | Stage:
    policy: Policy | Stage = settings.policy.make(**{**FACTS, **facts})
    if not isinstance(policy, Policy | Stage):
        raise UserError(f"policy {settings.policy.name!r} makes a {type(policy).__name__}, not a Policy or a Stage")
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
    stage = found.state["training"]["stage"]
    return stage.get("policy", stage)


def make_estimator(settings: EstimatorSettings, policy: Policy | Stage) -> Estimator | None:
    """None for a policy that finds its own evidence."""
    if (settings.name == "evidence") != (policy.default_estimator is None):
        raise UserError(
            f"this policy learns from estimator {policy.default_estimator or 'evidence'!r}, not from "
            f"{settings.name!r}; leave it out, or choose a method refined by ∇λ (--method metamixup-logit)"
        )
    estimator: Estimator | None = settings.make()
    return estimator


def learns(settings: Settings) -> bool:
    """Does a run with these settings learn λ from its meta set?"""
    policy: Policy | Stage = settings.policy.make(**FACTS)
    return policy.learned
