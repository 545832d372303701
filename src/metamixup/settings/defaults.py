"""Defaults that depend on the data set or on the policy, where they differ from the schema's."""

import math
from typing import Any

from metamixup.data.glance import Glance
from metamixup.models import is_trained
from metamixup.policy import Policy
from metamixup.settings.choices import policy_maker
from metamixup.settings.schema import Settings

BY_DATA: dict[str, dict[str, Any]] = {
    "digits": {"epochs": 100, "batch_size": 64, "optimizer.lr": 0.05, "meta.per_class": 10},
    "mnist": {"epochs": 20, "optimizer.lr": 0.05},
    "fashion": {"epochs": 30, "optimizer.lr": 0.05},
}
# Photos that have a name: their facts are known without their files.
PHOTOS = {
    "cifar10": Glance(50_000, 10, (3, 32, 32)),
    "cifar100": Glance(50_000, 100, (3, 32, 32)),
    "cifar100-coarse": Glance(50_000, 20, (3, 32, 32)),
    "svhn": Glance(73_257, 10, (3, 32, 32)),
}
WITHOUT_NORM = {"optimizer.lr": 0.02, "optimizer.warmup_epochs": 1.0}  # cnn3 learns nothing at higher rates
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


def data_defaults(plain: Settings, given: dict[str, Any], own: Glance | None) -> dict[str, Any]:
    """Of a data set that has a name, or of a user's own images, as far as a glance at them can tell. Who names a model
    for a data set that has a name knows what it needs."""
    seen = own or (PHOTOS.get(plain.data) if "model" not in given else None)
    if seen is None:
        return BY_DATA.get(plain.data, {})
    found = photo_defaults(seen, min(plain.subset or seen.images, seen.images))
    unwanted = SHIFTS if SHIFTS & given.keys() else set()  # who asks for one way of shifting does not want the other
    if given.get("optimizer.name", "sgd") != "sgd" or not given.get("optimizer.momentum", 1):
        unwanted = unwanted | {"optimizer.nesterov"}
    adam = {} if given.get("optimizer.name", "sgd") == "sgd" else {"optimizer.lr": 1e-3}
    return {key: value for key, value in found.items() if key not in unwanted} | adam


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
    """The data's defaults, but a low rate and a warm-up for cnn3 where the data's are not its own. For trained weights
    what does not spoil them: a new head learns ten times as fast as the layers before it, and fewer epochs are enough.
    """
    if model == "cnn3" and by_data not in BY_DATA.values():
        return {**by_data, **WITHOUT_NORM}
    if not is_trained(model):
        return by_data
    return {**by_data, **FINE_TUNING, "epochs": min(MOST_FINE_TUNING, by_data.get("epochs", MOST_FINE_TUNING))}


def policy_defaults(name: str, batch_size: int) -> dict[str, Any]:
    """What suits a policy: the estimator, the rhythm and the size of a meta batch that its class names. No policy
    decides which images are trained on."""
    maker = policy_maker(name)
    suits = {
        "estimator.name": getattr(maker, "default_estimator", Policy.default_estimator) or "evidence",
        "estimator.every": getattr(maker, "every", Policy.every),
    }
    return suits | ({"meta.batch_size": maker.meta_batch(batch_size)} if hasattr(maker, "meta_batch") else {})


def meta_defaults(policy: str, given: dict[str, Any], own: Glance | None) -> dict[str, Any]:
    """No meta set where nobody vouches for the labels and the policy can do without: one that is drawn from them would
    have as many wrong ones as they have. Who spoils labels on purpose, or sets anything of the meta set, wants one."""
    vouched = "labels" not in given and (own is None or own.vouched)
    wanted = any(key.startswith(("meta.", "corrupt.", "ssl.")) for key in given)
    maker = policy_maker(policy)
    can_do_without = getattr(maker, "learned", False) and not getattr(maker, "needs_meta", True)
    return {} if vouched or wanted or not can_do_without else {"meta.source": "none"}
