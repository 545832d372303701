"""Settings by their dotted names, as users write them, and as sections in sections."""

from typing import Any

from metamixup.errors import UserError


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"policy": {"lam": 0.5}} → {"policy.lam": 0.5}"""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """{"policy.lam": 0.5} → {"policy": {"lam": 0.5}}"""
    found: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        inner = found
        for section in sections:
            inner = inner.setdefault(section, {})
            if not isinstance(inner, dict):
                raise UserError(f"setting {key!r}: {section!r} is a value, not a section")
        inner[last] = value
    return found
