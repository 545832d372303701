"""Sections of settings, and sections whose keys are the parameters of what they make: policies and estimators.

The constructor of a policy is the one place that says what it can be told, what the defaults are and which values make
sense; its section is read off the signature here.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model, model_validator

from metamixup.errors import UserError

# What a run knows of itself and a constructor may ask for. These parameters are no settings; values for a trial.
FACTS: dict[str, Any] = {"steps": 1, "steps_per_epoch": 1}
PLAIN = (bool, int, float, str)


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)


class Chosen(Section):
    """The settings of something chosen by its name. `maker` is what makes it."""

    name: str
    maker: ClassVar[Callable[..., Any]]
    parameters: ClassVar[tuple[str, ...]] = ()

    def make(self, **facts: Any) -> Any:
        taken = inspect.signature(self.maker).parameters
        values = {key: getattr(self, key) for key in self.parameters}
        return self.maker(**values, **{key: value for key, value in facts.items() if key in taken})

    @model_validator(mode="after")
    def makes_sense(self) -> "Chosen":
        """A value that the constructor refuses, or that overflows 32 bits, is told before anything is built."""
        for key in self.parameters:
            value = getattr(self, key)
            if isinstance(value, int | float) and abs(value) > 1e30:
                raise ValueError(f"{key} = {value:g} is beyond all use")
        self.make(**FACTS)
        return self


def section_of(name: str, maker: Callable[..., Any], base: type[Chosen] = Chosen) -> type[Chosen]:
    """The section of what `maker` makes: a key for each parameter that has a default and a plain value."""
    fields: dict[str, Any] = {key: (kind, default) for key, kind, default in _settable(maker)}
    made = create_model(f"{name}-settings", __base__=base, name=(str, name), **fields)
    made.maker, made.parameters = staticmethod(maker), tuple(fields)
    return made


def _settable(maker: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    plain = maker.func if isinstance(maker, partial) else maker
    hints = get_type_hints(getattr(plain, "__init__") if isinstance(plain, type) else plain)  # noqa: B009
    decided = maker.keywords if isinstance(maker, partial) else {}
    found = [(p.name, hints.get(p.name, Any), p.default) for p in inspect.signature(maker).parameters.values()]
    return [
        (key, kind, default)
        for key, kind, default in found
        if key not in (*decided, *FACTS) and default is not inspect.Parameter.empty and _is_plain(default)
    ]


def _is_plain(default: Any) -> bool:
    return isinstance(default, PLAIN) or (isinstance(default, tuple) and all(isinstance(v, str) for v in default))


def not_applying(what: str, name: str, key: str, section: type[Section], others: list[str]) -> UserError:
    """`policy.lam does not apply to policy 'trust', which has alpha, memory and settle; policy 'fixed' has it`"""
    own = [k for k in section.model_fields if k != "name"]
    *most, last = own or ["none"]
    listed = f"{', '.join(most)} and {last}" if most else last
    has = f"; {what} {' or '.join(map(repr, others))} has it" if others else ""
    return UserError(f"{what}.{key} does not apply to {what} {name!r}, which has {listed}{has}")
