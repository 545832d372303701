"""The ways of drawing λ that a method can be combined with, by name: what each is, and the settings it stands for.

`metamixup` is the paper to the letter; `trustmix` is this project's own policy, which grew out of it.
"""

from typing import Any, NamedTuple

from metamixup.policy import Learned


class Form(NamedTuple):
    about: str
    defaults: dict[str, Any]


def _one_step(policy: Learned) -> dict[str, Any]:
    """Algorithm 1 with the exact gradient, and the step of `policy`."""
    step = {name: getattr(policy, name) for name in ("step_size", "projection", "normalise")}
    return {"policy.name": "learned", "estimator.name": "exact", **{f"policy.{k}": v for k, v in step.items()}}


NO_MIXING: dict[str, Any] = {"policy.name": "fixed", "policy.lam": 1.0}

FORMS = {
    "mixup": Form("λ ~ Beta(α, α)", {"policy.name": "beta"}),
    "metamixup": Form("λ by the paper's Algorithm 1: exact gradient, α = 5, Eq. 13", _one_step(Learned.paper())),
    "metamixup-clip": Form(
        "λ by Algorithm 1 as printed: no sigmoid, clamped to [0, 1]",
        {**_one_step(Learned.paper()), "policy.projection": "clip"},
    ),
    "metamixup-logit": Form("λ by Algorithm 1 on its logit, with the head's gradient", {"policy.name": "learned"}),
    "trustmix": Form(
        "MixUp that learns how much to blend and which labels to trust, with a meta set or without",
        {"policy.name": "trust"},
    ),
}
DEFAULT = "trustmix"

# Names of version 0.1.0. `metamixup` was what is now `trustmix`.
FORMER = {"metamixup-one-step": "metamixup-logit", "metamixup-paper": "metamixup"}
