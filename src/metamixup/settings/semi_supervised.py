"""The methods with unlabelled data by name: a line about each, how it is made, and the settings its name stands for.

Ways of drawing λ are policies, so `mixup+apl` is APL with another policy and nothing else.
"""

import inspect
from collections.abc import Callable
from typing import Any

from metamixup.methods.apl import APL, period_of
from metamixup.methods.consistency import PiModel
from metamixup.methods.mean_teacher import MeanTeacher
from metamixup.methods.method import Method
from metamixup.methods.mixmatch import MixMatch
from metamixup.methods.pseudo_label import PseudoLabel
from metamixup.methods.ramp import Ramp
from metamixup.methods.supervised import Supervised
from metamixup.methods.vat import VAT
from metamixup.settings.forms import FORMS, NO_MIXING
from metamixup.settings.schema import Settings

Make = Callable[[Settings], Method]

K_EPOCHS = 200  # the length of the run that K belongs to; a shorter one lowers σ as often (ssl.sigma_every)

MIXUP = FORMS["mixup"].defaults
RAMPED = {"ssl.ramp": "exponential", "ssl.ramp_over": 0.4}
SETTINGS = {"weight": "ssl.weight", "decay": "ssl.ema"}  # parameters whose default differs from method to method


def own(method: type[Method]) -> dict[str, Any]:
    """The settings that a method's constructor has its own defaults for."""
    parameters = inspect.signature(method).parameters
    return {key: parameters[name].default for name, key in SETTINGS.items() if name in parameters}


def ramp(settings: Settings) -> Ramp:
    return Ramp(settings.ssl.ramp, settings.ssl.ramp_over)


def _pseudo_label(settings: Settings) -> Method:
    return PseudoLabel(settings.ssl.sigma, settings.ssl.weight, ramp(settings))


def _apl(settings: Settings) -> Method:
    chosen = settings.ssl
    period = period_of(chosen.sigma_every, settings.epochs, K_EPOCHS)
    return APL(chosen.sigma, chosen.sigma_drop, period, chosen.weight, ramp(settings))


def _mean_teacher(settings: Settings) -> Method:
    return MeanTeacher(settings.ssl.weight, settings.ssl.ema, ramp(settings), settings.ssl.ema_warmup)


def _vat(settings: Settings) -> Method:
    chosen = settings.ssl
    return VAT(chosen.weight, chosen.epsilon, chosen.xi, chosen.iterations, chosen.entropy, ramp(settings))


def _mixmatch(settings: Settings) -> Method:
    chosen = settings.ssl
    views, warmup = chosen.augmentations, chosen.ema_warmup
    return MixMatch(chosen.weight, chosen.temperature, views, chosen.ema, ramp(settings), warmup)


MATCH_FIRST = {"policy.alpha": 0.75}  # of MixMatch's λ, and of the first λ where it is learned
MATCH = {"ssl.ramp": "linear", "ssl.ramp_over": 0.4, **own(MixMatch)}

SEMI_SUPERVISED: dict[str, tuple[str, Make, dict[str, Any]]] = {
    "supervised": ("the labelled images alone, as many steps as the others", lambda _: Supervised(), NO_MIXING),
    "pseudo-label": ("confident predictions serve as labels (ssl.sigma)", _pseudo_label, NO_MIXING),
    "apl": ("Pseudo-Label whose σ falls (ssl.sigma_drop, ssl.sigma_every)", _apl, NO_MIXING),
    "pi-model": (
        "one answer under two augmentations (ssl.weight)",
        lambda settings: PiModel(settings.ssl.weight, ramp(settings)),
        {**NO_MIXING, **RAMPED, **own(PiModel)},
    ),
    "mean-teacher": (
        "the average of the weights teaches (ssl.ema)",
        _mean_teacher,
        {**NO_MIXING, **RAMPED, **own(MeanTeacher)},
    ),
    "vat": ("adversarial perturbations (ssl.epsilon)", _vat, {**NO_MIXING, **RAMPED, **own(VAT)}),
    "vat-em": (
        "VAT with entropy minimisation (ssl.entropy)",
        _vat,
        {**NO_MIXING, **RAMPED, **own(VAT), "ssl.entropy": 0.1},
    ),
    "mixmatch-no-mixup": ("MixMatch without its blends", _mixmatch, {**NO_MIXING, **MATCH}),
    "mixmatch": ("averaged, sharpened guesses on blends, λ ~ Beta(α, α)", _mixmatch, {**MIXUP, **MATCH, **MATCH_FIRST}),
    **{f"{name}+pseudo-label": (f"Pseudo-Label; {f.about}", _pseudo_label, f.defaults) for name, f in FORMS.items()},
    **{f"{name}+apl": (f"APL; {f.about}", _apl, f.defaults) for name, f in FORMS.items()},
    **{
        f"{name}+mixmatch": (f"MixMatch; {form.about}", _mixmatch, {**form.defaults, **MATCH, **MATCH_FIRST})
        for name, form in FORMS.items()
        if name != "mixup"  # that is MixMatch itself
    },
}
