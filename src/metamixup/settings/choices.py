"""Policies and estimators by the names that users write, a line about each, and the sections of their settings."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any

from pydantic import Field

from metamixup.errors import unknown
from metamixup.meta import Exact, FiniteDifference, Head
from metamixup.policy import Beta, CutMix, Fixed, Learned, Persistent
from metamixup.policy.reweight import Reweight
from metamixup.settings.section import Chosen, section_of
from metamixup.trust import Evidence, Trust


@dataclass(frozen=True)
class Choice:
    """What a name stands for: a line about it, and the constructor, whose parameters are its settings."""

    about: str
    maker: Callable[..., Any]


POLICIES = {
    "fixed": Choice("one λ for all pairs; λ = 1 is training without mixing", Fixed),
    "beta": Choice("λ ~ Beta(α, α), as MixUp draws it", Beta),
    "cutmix": Choice("a box of the partner is pasted in", CutMix),
    "trust": Choice("MixUp that learns which labels to trust", Trust),
    "reweight": Choice("weights of whole samples in place of blends", Reweight),
    "learned": Choice("one gradient step from a random λ (Algorithm 1)", Learned),
    "persistent": Choice("a distribution of λ whose width is learned over the run", Persistent),
}
ESTIMATORS = {
    "evidence": Choice("the gain and the loss of each sample of the unblended batch (trust alone)", Evidence),
    "exact": Choice("the meta-gradient through the virtual step", Exact),
    "head": Choice("the virtual step on the last linear layer alone, in closed form", Head),
    "head-early": Choice("head, with blends taken after the first layer", partial(Head, blend="early")),
    "head-features": Choice("head, with blends taken before the last layer", partial(Head, blend="features")),
    "head-plain": Choice("head without its memory and centring", Head.plain),
    "finite_difference": Choice("a central difference of the training loss in θ", FiniteDifference),
}


class EstimatorSettings(Chosen):
    """How ∇λ is found, how often (on every `every`-th step) and from which `fraction` of the batch."""

    every: Annotated[int, Field(ge=1)] = 1
    fraction: Annotated[float, Field(gt=0, le=1)] = 1.0


@cache
def policy_section(name: str) -> type[Chosen]:
    if name not in POLICIES:
        raise unknown("policy", name, POLICIES)
    return section_of(name, POLICIES[name].maker)


@cache
def estimator_section(name: str) -> type[Chosen]:
    if name not in ESTIMATORS:
        raise unknown("estimator", name, ESTIMATORS)
    return section_of(name, ESTIMATORS[name].maker, EstimatorSettings)


DEFAULTS = {"policy": "trust", "estimator": "head"}
SECTIONS = {"policy": (policy_section, POLICIES), "estimator": (estimator_section, ESTIMATORS)}


@cache
def choice_keys() -> tuple[str, ...]:
    """`policy.alpha`, `estimator.every` and all others that any policy or estimator has."""
    sections = [(what, find(name)) for what, (find, names) in SECTIONS.items() for name in names]
    return tuple(dict.fromkeys(f"{what}.{key}" for what, section in sections for key in section.model_fields))
