"""Does the state of a checkpoint fit the run that is to go on? Asked before anything of it is loaded.

The checksum in a checkpoint's name tells damage, not malice: a handed run folder may hold any state under a checksum
that fits. What is compared is the state of the run as it was just built, value by value.
"""

from typing import Any

from torch import Tensor


def mismatch(found: Any, own: Any, name: str = "state") -> str | None:
    """What in `found` is not as in `own`, in words; None if all fits.

    A section that is empty in a run that has just begun may hold anything, and a side of a tensor without length
    yet may have any.
    """
    if isinstance(own, Tensor):
        return _tensor_mismatch(found, own, name)
    if isinstance(own, dict):
        return _section_mismatch(found, own, name)
    if isinstance(own, list | tuple):
        return _sequence_mismatch(found, own, name)
    if own is None or _same_kind(found, own):
        return None
    return f"{name} is {_told(found)} in place of {_told(own)}"


def optimizer_mismatch(found: Any, own: dict[str, Any], parameters: list[Tensor]) -> str | None:
    """Of an optimizer's state: its groups are known, what it remembers of each parameter is filled in by the first
    steps."""
    problem = mismatch(found, {"param_groups": [], "state": {}}, "optimizer")
    if problem is None and [*map(_settings_of, found["param_groups"])] != [*map(_settings_of, own["param_groups"])]:
        problem = "its optimizer has other settings"
    if problem is not None:
        return problem
    for key, values in found["state"].items():
        if not isinstance(key, int) or not 0 <= key < len(parameters) or not isinstance(values, dict):
            return f"optimizer.state has an entry {key!r} of no parameter"
        for name, value in values.items():
            if not _remembered(name, value, parameters[key]):
                return f"optimizer.state.{key}.{name} is {_told(value)}"
    if len({frozenset(k for k, v in values.items() if v is not None) for values in found["state"].values()}) > 1:
        return "its optimizer remembers less of some parameters than of others"
    return None


def _remembered(name: Any, value: Any, parameter: Tensor) -> bool:
    """Is this what torch's optimizers remember: a count of steps, or a tensor like the parameter?"""
    if name == "step":
        return _same_kind(value, 1.0) or (isinstance(value, Tensor) and value.ndim == 0)
    return value is None or (
        isinstance(value, Tensor) and value.shape == parameter.shape and value.dtype == parameter.dtype
    )


def _settings_of(group: Any) -> str | None:
    """What stands in a group of parameters beside its learning rates, which the schedule sets, and whether one pass
    serves them all, which the kind of processor says."""
    rates = ("lr", "initial_lr")
    if not isinstance(group, dict) or not all(_is_rate(group.get(rate, group.get("lr"))) for rate in rates):
        return None
    if not isinstance(group.get("fused"), bool | None):
        return None
    return repr({key: value for key, value in group.items() if key not in (*rates, "fused")})


def _is_rate(value: Any) -> bool:
    return _same_kind(value, 0.0) and 0 <= value < 1e30


def _tensor_mismatch(found: Any, own: Tensor, name: str) -> str | None:
    fits = isinstance(found, Tensor) and found.dtype == own.dtype and found.ndim == own.ndim
    if fits and all(size in (there, 0) for size, there in zip(own.shape, found.shape, strict=True)):
        return None
    return f"{name} is {_told(found)} in place of {_told(own)}"


def _section_mismatch(found: Any, own: dict[Any, Any], name: str) -> str | None:
    if not isinstance(found, dict) or (own and set(found) != set(own)):
        return f"{name} is {_told(found)} in place of {_told(own)}"
    if not own:
        return None
    problems = (mismatch(found[key], own[key], f"{name}.{key}") for key in own)
    return next((p for p in problems if p is not None), None)


def _sequence_mismatch(found: Any, own: list[Any] | tuple[Any, ...], name: str) -> str | None:
    if type(found) is not type(own) or (own and len(found) != len(own)):
        return f"{name} is {_told(found)} in place of {_told(own)}"
    problems = (mismatch(f, o, f"{name}[{k}]") for k, (f, o) in enumerate(zip(found, own, strict=False)))
    return next((p for p in problems if p is not None), None)


def _same_kind(found: Any, own: Any) -> bool:
    if isinstance(own, bool) or isinstance(found, bool):
        return type(found) is type(own)
    numbers = (int, float)
    return isinstance(found, numbers) if isinstance(own, numbers) else type(found) is type(own)


def _told(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a {value.dtype} tensor of shape {tuple(value.shape)}"
    if isinstance(value, dict):
        return "a section with " + (", ".join(map(str, list(value)[:5])) or "nothing in it")
    return f"the {type(value).__name__} {str(value)[:40]!r}"
