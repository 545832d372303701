"""The sections of settings that policies and estimators have, each read off its constructor."""

from functools import cache
from typing import Annotated, Any

from pydantic import Field

from metamixup.choices import DEFAULT_POLICY, POLICIES, Choice
from metamixup.choices import ESTIMATORS as estimators
from metamixup.errors import unknown
from metamixup.policy import Policy
from metamixup.settings.code import find, is_code
from metamixup.settings.section import Chosen, section_of

# Trust finds its own evidence: that is no estimator of ∇λ, but a name where one is asked for.
ESTIMATORS = estimators | {"evidence": Choice("what policy 'trust' learns from, and no other", lambda: None)}


class EstimatorSettings(Chosen):
    """How ∇λ is found, how often (on every `every`-th step) and from which `fraction` of the batch."""

    every: Annotated[int, Field(ge=1)] = 1
    fraction: Annotated[float, Field(gt=0, le=1)] = 1.0


@cache
def policy_maker(name: str) -> Any:
    """The class of a policy by name, or a user's own by `package.module:Class`."""
    if is_code(name):
        return find("policy", name)
    if name not in POLICIES:
        raise unknown("policy", name, [*POLICIES, "package.module:Class"])
    return POLICIES[name].maker


@cache
def policy_section(name: str) -> type[Chosen]:
    return section_of(name, policy_maker(name))


@cache
def estimator_section(name: str) -> type[Chosen]:
    if is_code(name):
        return section_of(name, find("estimator", name), EstimatorSettings)
    if name not in ESTIMATORS:
        raise unknown("estimator", name, [*ESTIMATORS, "package.module:Class"])
    return section_of(name, ESTIMATORS[name].maker, EstimatorSettings)


DEFAULTS = {"policy": DEFAULT_POLICY, "estimator": Policy.default_estimator}
SECTIONS = {"policy": (policy_section, POLICIES), "estimator": (estimator_section, ESTIMATORS)}


@cache
def choice_keys() -> tuple[str, ...]:
    """`policy.alpha`, `estimator.every` and all others that any policy or estimator has."""
    sections = [(what, find(name)) for what, (find, names) in SECTIONS.items() for name in names]
    return tuple(dict.fromkeys(f"{what}.{key}" for what, section in sections for key in section.model_fields))
