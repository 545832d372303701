"""From what a user gave (a file, flags, --set) to the complete settings of a run, and to config.toml and back."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from metamixup.data import known_data
from metamixup.errors import UserError, unknown
from metamixup.settings.defaults import data_defaults, implied_policy, policy_defaults
from metamixup.settings.registry import method_entry
from metamixup.settings.schema import Settings, check, flat, known_keys, nested
from metamixup.storage import write_atomically


def placed(given: dict[str, Any]) -> dict[str, Any]:
    """The same with whole paths, so that a run goes on from any working directory; names of data sets stay names."""
    found = dict(given)
    data = found.get("data")
    if isinstance(data, str) and data not in known_data() and Path(data).expanduser().exists():
        found["data"] = str(Path(data).expanduser().absolute())
    for key in ("data_dir", "policy.replay", "start.weights"):
        if isinstance(found.get(key), str):
            found[key] = str(Path(found[key]).expanduser().absolute())
    return found


def resolve(given: dict[str, Any], threads: int = 1) -> Settings:
    """Complete settings. `given` holds dotted keys; it wins over the defaults of the method's name, these over the data
    set's, and these over what suits the policy."""
    plain = check(nested(given))
    named = method_entry(plain.method).defaults
    chosen = {**data_defaults(plain.data), **named, **implied_policy(named, given), **given}
    policy = policy_defaults(chosen.get("policy.name", plain.policy.name), chosen.get("batch_size", plain.batch_size))
    return check(nested({"threads": threads, **policy, **chosen}))


def read_toml(path: Path) -> dict[str, Any]:
    """The dotted keys of a TOML file."""
    try:
        return flat(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def read_config(path: Path, named: str | None = None) -> Settings:
    """The settings of a run as they were resolved: no default of today's version comes in.

    A run folder may come from anybody, and a model may be code: it is let through only where the user has named it,
    by `named` or in $METAMIXUP_TRUST.
    """
    settings = check(nested(read_toml(path)), str(path))
    if ":" in settings.model and settings.model not in (named, os.environ.get("METAMIXUP_TRUST")):
        raise UserError(
            f"{path}: the model {settings.model!r} is code that would be imported and run. If you trust it, name it: "
            f"train --resume --model {settings.model}, or METAMIXUP_TRUST={settings.model} before any command"
        )
    return settings


def write_config(path: Path, settings: Settings) -> None:
    write_atomically(path, tomli_w.dumps(settings.model_dump(exclude_none=True)).encode())


def contradiction(given: dict[str, Any], stored: Settings) -> str | None:
    """The first given value that the stored settings do not have, told; values are compared as settings see them."""
    before = flat(stored.model_dump())
    after = flat(check(nested({**{k: v for k, v in before.items() if v is not None}, **given})).model_dump())
    for key in given:
        if after[key] != before[key]:
            return f"{key} = {after[key]!r} contradicts the run's {key} = {before[key]!r}"
    return None


def parse_assignment(text: str) -> tuple[str, Any]:
    """`policy.step_size=5` → ("policy.step_size", 5); what is no TOML value is taken as text."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise UserError(f"--set {text!r}: expected key=value, for example --set policy.step_size=5")
    if key.strip() not in known_keys():
        raise UserError(f"--set: {unknown('setting', key.strip(), known_keys())}")
    try:
        return key.strip(), tomllib.loads(f"value = {value.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def default_out(settings: Settings) -> Path:
    """runs/DATA-MODEL-METHOD-SEED, as a name that every file system takes."""
    data = Path(settings.data).name if "/" in settings.data else settings.data
    name = f"{data}-{settings.model}-{settings.method}-{settings.seed}"
    return Path("runs") / re.sub(r"[^A-Za-z0-9.+_-]+", "-", name)
