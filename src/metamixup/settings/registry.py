"""Methods, policies and estimators by the names that users write. Adding one is one entry here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from metamixup.engine import checkpoint
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError, unknown
from metamixup.meta import Estimator, Exact, FiniteDifference, Head
from metamixup.methods.adamixup import AdaMixUp
from metamixup.methods.manifold import Manifold
from metamixup.methods.method import Method
from metamixup.methods.supervised import Reweighted, Supervised
from metamixup.policy import Beta, CutMix, Fixed, Learned, Persistent, Policy, Replay, Reverse, Shuffle
from metamixup.policy.reweight import Reweight
from metamixup.settings.schema import EstimatorSettings, PolicySettings, Settings
from metamixup.settings.semi_supervised import SEMI_SUPERVISED
from metamixup.trust import Evidence, Trust


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
    "label-smoothing": MethodEntry(
        "no mixing; a tenth of every label is spread over all classes",
        lambda s: Supervised(smoothing=0.1),
        {"policy.name": "fixed", "policy.lam": 1.0},
    ),
    "mixup": MethodEntry("λ ~ Beta(α, α) (policy.alpha, policy.per)", _supervised, {"policy.name": "beta"}),
    "fixed": MethodEntry("one λ for all pairs (policy.lam)", _supervised, {"policy.name": "fixed", "policy.lam": 0.3}),
    "manifold": MethodEntry(
        "Manifold MixUp: at the input or after one of the first stages", lambda s: Manifold(), {"policy.name": "beta"}
    ),
    "cutmix": MethodEntry("a box of the partner is pasted in", _supervised, {"policy.name": "cutmix"}),
    # AdaMixUp turns the uniform number that the policy draws into its own λ = a + u·b.
    "adamixup-no-discriminator": MethodEntry(
        "AdaMixUp: a generator proposes λ", lambda s: AdaMixUp(discriminate=False), {"policy.name": "beta"}
    ),
    "adamixup": MethodEntry(
        "AdaMixUp with its intrusion discriminator", lambda s: AdaMixUp(discriminate=True), {"policy.name": "beta"}
    ),
    "metamixup": MethodEntry(
        "MixUp that learns from a meta set which labels to trust", _supervised, {"policy.name": "trust"}
    ),
    "metamixup-one-step": MethodEntry(
        "λ learned from a meta set, one gradient step a batch (Algorithm 1)", _supervised, {"policy.name": "learned"}
    ),
    "reweight": MethodEntry(
        "learning to reweight (Ren et al. 2018): weights in place of blends",
        lambda s: Reweighted(),
        {"policy.name": "reweight", "estimator.lookahead": False},
    ),
    "metamixup-paper": MethodEntry(
        "MetaMixUp with Eq. 13 to the letter",
        _supervised,
        {
            "policy.name": "learned",
            "policy.projection": "paper",
            "policy.step_size": 5.0,
            "policy.normalise": False,
            "estimator.name": "exact",
        },
    ),
    **{name: MethodEntry(*entry) for name, entry in SEMI_SUPERVISED.items()},
}

ImageSize = tuple[int, int]
POLICIES: dict[str, Callable[[PolicySettings, ImageSize], Policy]] = {
    "fixed": lambda p, size: Fixed(p.lam),
    "beta": lambda p, size: Beta(p.alpha, p.per),
    "cutmix": lambda p, size: CutMix(size, p.alpha, p.per),
    "trust": lambda p, size: Trust(p.alpha, p.memory, p.settle),
    "reweight": lambda p, size: Reweight(),
    "learned": lambda p, size: _learned(p),
    "persistent": lambda p, size: Persistent(
        p.granularity, p.rate, p.pull, one_step=_learned(p) if p.one_step else None
    ),
}


def _learned(p: PolicySettings) -> Learned:
    return Learned(p.step_size, p.projection, p.normalise, Beta(p.alpha, p.per))


ESTIMATORS: dict[str, Callable[[EstimatorSettings], Estimator]] = {
    "evidence": lambda e: Evidence(),
    "exact": lambda e: Exact(e.lookahead, tuple(e.layers)),
    "head": lambda e: Head(lookahead=e.lookahead, memory=e.memory),
    "head-early": lambda e: Head(lookahead=e.lookahead, blend="early", memory=e.memory),
    "head-features": lambda e: Head(lookahead=e.lookahead, blend="features", memory=e.memory),
    "head-plain": lambda e: Head.plain(lookahead=e.lookahead),
    "finite_difference": lambda e: FiniteDifference(lookahead=e.lookahead),
}

# Controls turn a learned policy into a rival that shares all but what it learned: `metamixup:reverse`.
CONTROLS: dict[str, Callable[[Policy, PolicySettings], Policy]] = {
    "reverse": lambda policy, p: Reverse(policy),
    "shuffle": lambda policy, p: Shuffle(policy),
    "replay": lambda policy, p: Replay(policy, _replayed(p)),
}


def _replayed(settings: PolicySettings) -> dict[str, Any]:
    if settings.replay is None:
        raise UserError("control 'replay' needs the run folder whose policy it serves (--set policy.replay=FOLDER)")
    found, _ = checkpoint.newest(RunFolder(settings.replay).checkpoints)
    if found is None:
        raise UserError(f"policy.replay: {settings.replay} holds no checkpoint, so there is no policy to serve again")
    return found.state["training"]["stage"]["policy"]


def method_entry(name: str) -> MethodEntry:
    """The entry of `metamixup` for `metamixup` and `metamixup:reverse` alike."""
    base, _, control = name.partition(":")
    if base not in METHODS:
        raise unknown("method", name, [*METHODS, *(f"{m}:{c}" for m in METHODS for c in CONTROLS)])
    if control and control not in CONTROLS:
        raise unknown("control", control, CONTROLS)
    return METHODS[base]


def make_policy(settings: Settings, image_size: ImageSize) -> Policy:
    if settings.policy.name not in POLICIES:
        raise unknown("policy", settings.policy.name, POLICIES)
    policy = POLICIES[settings.policy.name](settings.policy, image_size)
    control = settings.method.partition(":")[2]
    if not control:
        return policy
    if not policy.learned:
        raise UserError(f"method {settings.method!r}: policy {settings.policy.name!r} learns nothing to control")
    return CONTROLS[control](policy, settings.policy)


def make_estimator(settings: EstimatorSettings, policy: Policy) -> Estimator:
    name = settings.name
    if name not in ESTIMATORS:
        raise unknown("estimator", name, ESTIMATORS)
    if "evidence" in (name, policy.estimator) and name != policy.estimator:
        raise UserError(f"this policy learns from estimator {policy.estimator!r}, not from {name!r}; leave it out")
    return ESTIMATORS[name](settings)
