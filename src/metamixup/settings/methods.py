"""Methods by the names that users write, a line about each, and the settings that a name stands for."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from metamixup.errors import UserError, unknown
from metamixup.meta import CONTROLS
from metamixup.methods.adamixup import AdaMixUp
from metamixup.methods.bootstrapping import Bootstrapping
from metamixup.methods.elr import ELR
from metamixup.methods.gce import GCE
from metamixup.methods.logit_adjusted import LogitAdjusted
from metamixup.methods.manifold import Manifold
from metamixup.methods.method import Method
from metamixup.methods.supervised import Reweighted, Supervised
from metamixup.methods.tuned_head import BalancedHead, TunedHead
from metamixup.settings.code import about, find, is_code
from metamixup.settings.forms import FORMER, FORMS, NO_MIXING
from metamixup.settings.schema import Settings
from metamixup.settings.semi_supervised import SEMI_SUPERVISED
from metamixup.trust import Trust

SETTLE = inspect.signature(Trust).parameters["settle"].default


@dataclass(frozen=True)
class MethodEntry:
    """A line for `metamixup ls methods`, the method, and the settings (dotted keys) that its name stands for."""

    about: str
    make: Callable[[Settings], Method]
    defaults: dict[str, Any] = field(default_factory=dict)


def _supervised(settings: Settings) -> Method:
    return Supervised()


METHODS: dict[str, MethodEntry] = {
    "baseline": MethodEntry("no mixing", _supervised, NO_MIXING),
    "label-smoothing": MethodEntry(
        "no mixing; a tenth of every label is spread over all classes", lambda s: Supervised(smoothing=0.1), NO_MIXING
    ),
    **{name: MethodEntry(form.about, _supervised, form.defaults) for name, form in FORMS.items()},
    "mixup+settle": MethodEntry(
        "MixUp that blends less as the learning rate falls below half its peak, as trustmix does",
        _supervised,
        {"policy.name": "beta", "policy.settle": SETTLE},
    ),
    "mixup+hesitate": MethodEntry(
        "MixUp for all pairs to 60 % of the run, in every other epoch to 90 %, then ever less",
        _supervised,
        {"policy.name": "hesitating"},
    ),
    "mixup+balanced": MethodEntry(
        "MixUp of batches that show every class equally often",
        _supervised,
        {"policy.name": "beta", "sampling": "balanced"},
    ),
    "mixup+tuned-head": MethodEntry(
        "MixUp, then only the classifier on the clean meta images", lambda s: TunedHead(), {"policy.name": "beta"}
    ),
    "mixup+balanced-head": MethodEntry(
        "MixUp, then only the classifier on all classes equally often, with label-aware smoothing (Zhong et al. 2021)",
        lambda s: BalancedHead(),
        {"policy.name": "beta"},
    ),
    "elr": MethodEntry("early-learning regularisation (Liu et al. 2020)", lambda s: ELR(), NO_MIXING),
    "elr+mixup": MethodEntry(
        "early-learning regularisation of blends (Liu et al. 2020)", lambda s: ELR(), {"policy.name": "beta"}
    ),
    "gce+mixup": MethodEntry(
        "generalised cross entropy of blends (Zhang & Sabuncu 2018)", lambda s: GCE(), {"policy.name": "beta"}
    ),
    "bootstrapping": MethodEntry(
        "MixUp whose targets turn into the network's answers where losses are high (Arazo et al. 2019)",
        lambda s: Bootstrapping(),
        {"policy.name": "beta"},
    ),
    "logit-adjusted": MethodEntry(
        "no mixing; logits shifted by the frequency of classes (Menon et al. 2021)",
        lambda s: LogitAdjusted(),
        NO_MIXING,
    ),
    "fixed": MethodEntry("one λ for all pairs (policy.lam)", _supervised, {"policy.name": "fixed", "policy.lam": 0.3}),
    "manifold": MethodEntry(
        "Manifold MixUp: at the input or after one of the first stages", lambda s: Manifold(), {"policy.name": "beta"}
    ),
    "cutmix": MethodEntry("a box of the partner is pasted in", _supervised, {"policy.name": "cutmix"}),
    "cutmix+settle": MethodEntry(
        "CutMix that blends less as the learning rate falls below half its peak, as trustmix does",
        _supervised,
        {"policy.name": "cutmix", "policy.settle": SETTLE},
    ),
    # AdaMixUp turns the uniform number that the policy draws into its own λ = a + u·b.
    "adamixup-no-discriminator": MethodEntry(
        "AdaMixUp: a generator proposes λ", lambda s: AdaMixUp(discriminate=False), {"policy.name": "beta"}
    ),
    "adamixup": MethodEntry(
        "AdaMixUp with its intrusion discriminator", lambda s: AdaMixUp(discriminate=True), {"policy.name": "beta"}
    ),
    "reweight": MethodEntry(
        "learning to reweight (Ren et al. 2018): weights in place of blends",
        lambda s: Reweighted(),
        {"policy.name": "reweight", "estimator.lookahead": False},
    ),
    "meta-weight-net": MethodEntry(
        "weights that a small network learns to give by a sample's loss (Shu et al. 2019)",
        lambda s: Reweighted(),
        {"policy.name": "weight-net"},
    ),
    **{name: MethodEntry(*entry) for name, entry in SEMI_SUPERVISED.items()},
}


def refuse_former(name: str) -> None:
    """A name of version 0.1.0 is answered with the one that the method has now."""
    policy = re.split("[+:]", name)[0]
    if policy in FORMER:
        raise UserError(f"method {name!r} is called {name.replace(policy, FORMER[policy], 1)!r} now")


def method_entry(name: str) -> MethodEntry:
    refuse_former(name)
    if is_code(name):
        found = find("method", name)
        defaults = {**NO_MIXING, **getattr(found, "defaults", {})}
        return MethodEntry(about(found), lambda settings: _own(found, name), defaults)
    if name not in METHODS:
        raise unknown("method", name, [*METHODS, "package.module:Class"])
    return METHODS[name]


def _own(maker: Callable[[], Any], name: str) -> Method:
    """A user's own class serves where it is made without arguments and is a `Method`."""
    try:
        made = maker()
    except TypeError as error:
        raise UserError(f"method {name!r} could not be made: {error}; every parameter needs a default") from error
    if not isinstance(made, Method):
        raise UserError(f"method {name!r} makes a {type(made).__name__}, not a metamixup.methods.method.Method")
    return made


def with_control(given: dict[str, Any]) -> dict[str, Any]:
    """`method = "trustmix:reverse"` as the two settings that it is short for. The one place that knows the colon."""
    method = given.get("method")
    if not isinstance(method, str) or ":" not in method:
        return given
    name, _, control = method.partition(":")
    if is_code(method) and name not in METHODS:
        return given
    if control not in CONTROLS:
        raise unknown("method", method, [f"{name}:{known}" for known in CONTROLS])
    return {**given, "method": name, "control": control}
