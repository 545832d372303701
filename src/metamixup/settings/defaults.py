"""Defaults that depend on the data set or on the policy, where they differ from the schema's."""

import math
from typing import Any

from metamixup.data.glance import Glance, glance
from metamixup.models import is_trained
from metamixup.policy import Policy
from metamixup.settings.choices import policy_maker
from metamixup.settings.schema import Settings

BY_DATA: dict[str, dict[str, Any]] = {
    "digits": {"epochs": 100, "batch_size": 64, "optimizer.lr": 0.05, "meta.per_class": 10},
    "mnist": {"epochs": 20, "optimizer.lr": 0.05},
    "fashion": {"epochs": 30, "optimizer.lr": 0.05},
}
FINE_TUNING = {
    "optimizer.name": "adamw",
    "optimizer.lr": 1e-3,
    "optimizer.nesterov": False,
    "optimizer.weight_decay": 0.01,
    "optimizer.warmup_epochs": 1.0,
    "start.slow": 0.1,
}
MOST_FINE_TUNING = 20
SHIFTS = {"augment.shift", "augment.crop"}


def data_defaults(plain: Settings, given: dict[str, Any]) -> dict[str, Any]:
    """Of a data set that has a name, or of a user's own images, as far as a glance at them can tell."""
    seen = glance(plain.data, plain.image_size)
    if seen is None:
        return BY_DATA.get(plain.data, {})
    found = photo_defaults(seen, min(plain.subset or seen.images, seen.images))
    # Who asks for one of the two ways of shifting does not want the other.
    return {key: value for key, value in found.items() if key not in SHIFTS or not SHIFTS & given.keys()}


def photo_defaults(seen: Glance, images: int) -> dict[str, Any]:
    """What learns on 50 to 50,000 images of a user's own, whatever the method (benchmarks/own_photos.py).

    Fewer images are seen more often: 1200/√N epochs are 170 for 50 images, 54 for 500 and 17 for 5,000.
    """
    channels, *sides = seen.shape
    epochs = min(200, max(10, round(1200 / math.sqrt(images))))
    moved = "augment.crop" if channels == 1 else "augment.shift"  # writing lies on a plain ground: nothing to reflect
    return {
        "model": "photo-resnet8",
        "epochs": epochs,
        "evaluate_every": max(1, epochs // 20),
        "batch_size": next((size for size, most in ((16, 200), (32, 2000), (64, 10_000)) if images < most), 128),
        "optimizer.lr": 0.05,
        "optimizer.nesterov": True,
        "optimizer.weight_decay": 5e-4,
        "optimizer.warmup_epochs": 2.0,
        moved: min(sides) // 8,
    }


def model_defaults(model: str, by_data: dict[str, Any]) -> dict[str, Any]:
    """The data's defaults, or for trained weights what does not spoil them: a new head learns ten times as fast as the
    layers before it, and fewer epochs are enough."""
    if not is_trained(model):
        return by_data
    return {**by_data, **FINE_TUNING, "epochs": min(MOST_FINE_TUNING, by_data.get("epochs", MOST_FINE_TUNING))}


def policy_defaults(name: str, batch_size: int) -> dict[str, Any]:
    """What suits a policy: the estimator and the rhythm that its class names. Half a meta batch is enough for trust. No
    policy decides which images are trained on."""
    maker = policy_maker(name)
    suits = {
        "estimator.name": getattr(maker, "default_estimator", Policy.default_estimator) or "evidence",
        "estimator.every": getattr(maker, "every", Policy.every),
    }
    return suits | ({"meta.batch_size": max(batch_size // 2, 2)} if name == "trust" else {})
