"""Defaults that depend on the data set or on the policy, where they differ from the schema's."""

from typing import Any

from metamixup.choices import POLICIES

BY_DATA: dict[str, dict[str, Any]] = {
    "digits": {"epochs": 100, "batch_size": 64, "optimizer.lr": 0.05, "meta.per_class": 10},
    "mnist": {"epochs": 20, "optimizer.lr": 0.05},
    "fashion": {"epochs": 30, "optimizer.lr": 0.05},
}


def data_defaults(data: str) -> dict[str, Any]:
    return BY_DATA.get(data, {})


def policy_defaults(name: str, batch_size: int) -> dict[str, Any]:
    """What suits a policy: the estimator and the rhythm that its class names. Half a meta batch is enough for trust. No
    policy decides which images are trained on."""
    maker: Any = POLICIES[name].maker
    suits = {"estimator.name": maker.default_estimator or "evidence", "estimator.every": maker.every}
    return suits | ({"meta.batch_size": max(batch_size // 2, 2)} if name == "trust" else {})
