"""Methods, policies and estimators by the names that users write. Adding one is one entry here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from metamixup.errors import UserError, unknown
from metamixup.experiments.schema import EstimatorSettings, PolicySettings, Settings
from metamixup.meta import Estimator, Exact, FiniteDifference, Head
from metamixup.methods.method import Method
from metamixup.methods.supervised import Supervised
from metamixup.policy import Beta, Fixed, Learned, Policy, Reverse, Shuffle


@dataclass(frozen=True)
class MethodEntry:
    """A line for `metamixup ls methods`, the method, and the settings (dotted keys) that its name stands for."""

    about: str
    make: Callable[[Settings], Method]
    defaults: dict[str, Any] = field(default_factory=dict)


def _supervised(settings: Settings) -> Method:
    return Supervised()


METHODS: dict[str, MethodEntry] = {
    "baseline": MethodEntry("no mixing", _supervised, {"policy.name": "fixed", "policy.lam": 1.0}),
    "mixup": MethodEntry("λ ~ Beta(α, α) (policy.alpha, policy.per)", _supervised, {"policy.name": "beta"}),
    "fixed": MethodEntry("one λ for all pairs (policy.lam)", _supervised, {"policy.name": "fixed", "policy.lam": 0.3}),
    "metamixup": MethodEntry("λ learned from a meta set (Algorithm 1)", _supervised, {"policy.name": "learned"}),
}

POLICIES: dict[str, Callable[[PolicySettings], Policy]] = {
    "fixed": lambda p: Fixed(p.lam),
    "beta": lambda p: Beta(p.alpha, p.per),
    "learned": lambda p: Learned(p.step_size, p.projection, p.normalise, Beta(p.alpha, p.per)),
}

ESTIMATORS: dict[str, Callable[[EstimatorSettings], Estimator]] = {
    "exact": lambda e: Exact(lookahead=e.lookahead),
    "head": lambda e: Head(lookahead=e.lookahead),
    "finite_difference": lambda e: FiniteDifference(lookahead=e.lookahead),
}

# Controls turn a learned policy into a rival that shares all but what it learned: `metamixup:reverse`.
CONTROLS: dict[str, Callable[[Policy], Policy]] = {"reverse": Reverse, "shuffle": Shuffle}


def method_entry(name: str) -> MethodEntry:
    """The entry of `metamixup` for `metamixup` and `metamixup:reverse` alike."""
    base, _, control = name.partition(":")
    if base not in METHODS:
        raise unknown("method", name, [*METHODS, *(f"{m}:{c}" for m in METHODS for c in CONTROLS)])
    if control and control not in CONTROLS:
        raise unknown("control", control, CONTROLS)
    return METHODS[base]


def make_policy(settings: Settings) -> Policy:
    if settings.policy.name not in POLICIES:
        raise unknown("policy", settings.policy.name, POLICIES)
    policy = POLICIES[settings.policy.name](settings.policy)
    control = settings.method.partition(":")[2]
    if not control:
        return policy
    if not policy.learned:
        raise UserError(f"method {settings.method!r}: policy {settings.policy.name!r} learns nothing to control")
    return CONTROLS[control](policy)


def make_estimator(settings: EstimatorSettings) -> Estimator:
    if settings.name not in ESTIMATORS:
        raise unknown("estimator", settings.name, ESTIMATORS)
    return ESTIMATORS[settings.name](settings)
