"""A user's own model, named `package.module:function` on the command line."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from torch import nn

from metamixup.errors import UserError, unknown


def own_model(name: str, **facts: Any) -> nn.Module:
    """Call the function with those of num_classes, in_channels and image_size that it takes."""
    function = find_function(name)
    parameters = inspect.signature(function).parameters
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    try:
        model = function(**{k: v for k, v in facts.items() if takes_all or k in parameters})
    except TypeError as error:
        raise UserError(
            f"model {name!r} could not be called: {error}. It is given num_classes, in_channels and image_size, as "
            f"far as its parameters have these names; others need defaults"
        ) from error
    if not isinstance(model, nn.Module):
        raise UserError(f"model {name!r} returned {type(model).__name__}, not a torch.nn.Module")
    return model


def find_function(name: str, kind: str = "model") -> Callable[..., Any]:
    """A function or class by `package.module:name`. `kind` is what it should make, for the messages."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UserError(f"{kind} {name!r}: write package.module:name")
    module = import_here(module_name, f"{kind} {name!r}")
    if not hasattr(module, attribute):
        functions = [k for k, v in vars(module).items() if callable(v) and not k.startswith("_")]
        raise unknown(f"function of {module_name}", attribute, functions)
    function = getattr(module, attribute)
    if not callable(function):
        raise UserError(f"{kind} {name!r}: {attribute} is a {type(function).__name__}, not a function or class")
    return function


def import_here(module_name: str, what: str) -> Any:
    """Import with the current folder on the path: an installed command does not have it there."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"{what}: cannot import {module_name!r} from {here}: {error}") from error
