"""Code of a user's own in settings, written `package.module:Class`, and the guard before it.

A config.toml, a recipe or a run folder may come from anybody. What they would import is let through only where the user
has named it: on the command line, or in $METAMIXUP_TRUST.
"""

import os
import re
from collections.abc import Collection
from typing import Any

from metamixup.errors import UserError
from metamixup.meta import CONTROLS
from metamixup.models.own import find_function

CODE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
ELSEWHERE = ("hub:", "hf:", "timm:")  # prefixes of data sets and models that are found in libraries
KEYS = {"data": "--data", "model": "--model", "method": "--method", "policy.name": "--policy"}
KEYS |= {"estimator.name": "--estimator"}
TRUSTED = "METAMIXUP_TRUST"


def is_code(name: Any) -> bool:
    """Is it `package.module:Class`? `trustmix:reverse` is a method with its control."""
    if not isinstance(name, str) or not CODE.fullmatch(name) or name.startswith(ELSEWHERE):
        return False
    return name.rpartition(":")[2] not in CONTROLS


def refuse_code(values: dict[str, Any], where: str, named: Collection[Any] = ()) -> None:
    """Raise if dotted settings from a file name code that the user has not named."""
    trusted = [
        *named,
        *os.environ.get(TRUSTED, "").replace(",", " ").split(),
    ]  # a list: named may hold settings that are lists
    for key, flag in KEYS.items():
        name = values.get(key)
        if is_code(name) and name not in trusted:
            what = key.partition(".")[0]
            raise UserError(
                f"{where}: the {what} {name!r} is code that would be imported and run. If you trust it, name it: "
                f"train {flag} {name}, reproduce --code {name}, or {TRUSTED}={name} before any command"
            )


def find(kind: str, name: str) -> Any:
    """What the name stands for: a class or a function."""
    return find_function(name, kind)


def about(found: Any) -> str:
    return (found.__doc__ or "of your own").strip().partition("\n")[0]
