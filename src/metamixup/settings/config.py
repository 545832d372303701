"""Settings in files: TOML of the user's own, and the config.toml of a run."""

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import tomli_w

from metamixup.errors import UserError
from metamixup.settings.choices import estimator_section, policy_section
from metamixup.settings.code import refuse_code
from metamixup.settings.dotted import flat, nested
from metamixup.settings.forms import FORMER
from metamixup.settings.methods import with_control
from metamixup.settings.schema import Settings, check
from metamixup.storage import read_record, write_atomically

# The keys that config.toml had for every policy before each policy had its own.
FORMER_POLICY_KEYS = (
    *("lam", "alpha", "per", "step_size", "projection", "normalise", "memory", "settle"),
    *("granularity", "rate", "pull", "one_step"),
)


def read_toml(path: Path) -> dict[str, Any]:
    """The dotted keys of a TOML file."""
    try:
        found = flat(tomllib.loads(read_record(path, "utf-8-sig")))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    return with_control(from_former(found))


def from_former(values: dict[str, Any]) -> dict[str, Any]:
    """A config.toml of version 0.1.0, which listed the settings of all policies, as this version writes it."""
    if not all(f"policy.{key}" in values for key in FORMER_POLICY_KEYS):
        return values
    name = values.get("policy.name")
    own = policy_section(name).model_fields if isinstance(name, str) else {}
    former = {key: value for key, value in values.items() if key.startswith(("policy.", "estimator."))}
    kept = {key: value for key, value in values.items() if key not in former}
    if "policy.replay" in former:
        kept["replay"] = former["policy.replay"]
    if name == "persistent":
        former["policy.step_size"] = former["policy.rate"]
    kept["method"] = _former_method(kept.get("method"))
    kept |= {f"policy.{key}": former[f"policy.{key}"] for key in own if f"policy.{key}" in former}
    return kept | _former_estimator(former)


def _former_method(method: Any) -> Any:
    """`metamixup` was the policy that is called trust, and Algorithm 1 on the logit where images had no labels."""
    if not isinstance(method, str):
        return method
    name, colon, control = method.partition(":")
    form, plus, rest = name.partition("+")
    learned = "metamixup-logit" if plus else "trustmix"
    return FORMER.get(form, learned if form == "metamixup" else form) + plus + rest + colon + control


def _former_estimator(former: dict[str, Any]) -> dict[str, Any]:
    name = former.get("estimator.name")
    own = estimator_section(name).model_fields if isinstance(name, str) else {}
    return {f"estimator.{key}": former[f"estimator.{key}"] for key in own if f"estimator.{key}" in former}


def read_config(path: Path, named: Collection[Any] = ()) -> Settings:
    """The settings of a run as they were resolved: no default of today's version comes in.

    named: code that the user has named on the command line; other code is refused.
    """
    values = read_toml(path)
    if not values:
        raise UserError(f"{path} is empty, so this run cannot be told; choose another --out and train it again")
    refuse_code(values, str(path), named)
    return check(nested(values), str(path))


def write_config(path: Path, settings: Settings) -> None:
    write_atomically(path, tomli_w.dumps(settings.model_dump(exclude_none=True)).encode())


def contradiction(given: dict[str, Any], stored: Settings) -> str | None:
    """The first given value that the stored settings do not have, told; values are compared as settings see them."""
    before = flat(stored.model_dump())
    known = {key: value for key, value in before.items() if value is not None}
    for key, value in with_control(given).items():
        if (key, value) == ("precision", "fastest"):
            continue  # settled when the run began, maybe on another machine
        if key not in before:
            section = key.partition(".")[0]
            return f"{key} = {value!r} contradicts the run's {section}.name = {before[f'{section}.name']!r}"
        same = value if key in ("policy.name", "estimator.name") else _seen(known, key, value)
        if same != before[key]:
            return f"{key} = {same!r} contradicts the run's {key} = {before[key]!r}"
    return None


def _seen(known: dict[str, Any], key: str, value: Any) -> Any:
    """The value as settings take it: 1 for `lr = 1` is 1.0."""
    return flat(check(nested({**known, key: value})).model_dump())[key]
