"""Policies and estimators by the names that users write, with a line about each.

The one place for both: `MetaMixUp`, the settings, the command line and the documents read it. Defaults stand in the
constructors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from metamixup.errors import unknown
from metamixup.meta import Estimator, Exact, FiniteDifference, Head, Stage
from metamixup.policy import Beta, CutMix, Fixed, Learned, Persistent, Policy
from metamixup.policy.hesitating import Hesitating
from metamixup.policy.reweight import Reweight
from metamixup.trust import Trust
from metamixup.trust.weight_net import WeightNet


@dataclass(frozen=True)
class Choice:
    """What a name stands for: a line about it, and the constructor, whose parameters are its settings."""

    about: str
    maker: Callable[..., Any]


POLICIES = {
    "fixed": Choice("one λ for all pairs; λ = 1 is training without mixing", Fixed),
    "beta": Choice("λ ~ Beta(α, α), as MixUp draws it", Beta),
    "hesitating": Choice("MixUp for all pairs, then in every other epoch, then ever less", Hesitating),
    "cutmix": Choice("a box of the partner is pasted in", CutMix),
    "trust": Choice("MixUp that learns which labels to trust", Trust),
    "reweight": Choice("weights of whole samples in place of blends", Reweight),
    "weight-net": Choice("weights of whole samples by a small network that sees their losses", WeightNet),
    "learned": Choice("one gradient step from a random λ (Algorithm 1)", Learned),
    "persistent": Choice("a distribution of λ whose width is learned over the run", Persistent),
}
DEFAULT_POLICY = "trust"
ESTIMATORS = {
    "exact": Choice("the meta-gradient through the virtual step", Exact),
    "head": Choice("the virtual step on the last linear layer alone, in closed form", Head),
    "head-early": Choice("head, with blends taken after the first layer", partial(Head, blend="early")),
    "head-features": Choice("head, with blends taken before the last layer", partial(Head, blend="features")),
    "head-plain": Choice("head without its memory and centring", Head.plain),
    "finite_difference": Choice("a central difference of the training loss in θ", FiniteDifference),
}


def policy_named(name: str) -> Policy | Stage:
    """With its defaults."""
    if name not in POLICIES:
        raise unknown("policy", name, POLICIES)
    made: Policy | Stage = POLICIES[name].maker()
    return made


def estimator_named(name: str) -> Estimator:
    """With its defaults."""
    if name not in ESTIMATORS:
        raise unknown("estimator", name, ESTIMATORS)
    made: Estimator = ESTIMATORS[name].maker()
    return made
