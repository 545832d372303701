"""Is a summary.json one of ours? A run folder may be handed over, and its summary written by anybody."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

LARGEST_INPUT = 2**27  # values of one image
Check = Callable[[Any], bool]


def is_number(value: Any) -> TypeGuard[float]:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and math.isfinite(value)
    )


def summary_problem(found: Any) -> str | None:
    """What in a summary is not as `summarise` writes it, in words; keys that are missing are left to those who need
    them, since earlier versions wrote fewer."""
    if not isinstance(found, dict) or "test_error" not in found:
        return "it has no test_error"
    wrong = (key for key, fits in KNOWN.items() if key in found and not fits(found[key]))
    return next((f"its {key} is {str(found[key])[:40]!r}" for key in wrong), None)


def worth_telling(by_score: Mapping[str, Any], classes: int) -> dict[str, Any]:
    """What people are shown of the scores: of five classes the right one is always among the first five."""
    return {score: value for score, value in by_score.items() if classes > 5 or not score.endswith("error_top5")}


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _score(value: Any) -> bool:
    return value is None or is_number(value)


def _all(kind: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(kind, value))


def _section(kind: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(kind, value.values()))


def _histogram(value: Any) -> bool:
    return _all(_count)(value) and len(value) % 2 == 0


def _input(value: Any) -> bool:
    if not isinstance(value, dict) or not all(_all(is_number)(value.get(key)) for key in ("shape", "mean", "std")):
        return False
    shape = value["shape"]
    sized = len(shape) == 3 and all(_count(n) and n for n in shape) and math.prod(shape) <= LARGEST_INPUT
    flags = all(isinstance(value.get(key, True), bool) for key in ("bytes", "whitened"))
    return sized and flags and len(value["mean"]) == len(value["std"]) == shape[0] and all(s > 0 for s in value["std"])


SCORES = ("error", "error_top5", "error_views", "nll", "ece")
KNOWN: dict[str, Check] = {
    **dict.fromkeys(("method", "data", "model", "version", "device", "weights", "fingerprint"), _text),
    **dict.fromkeys((f"{part}_{score}" for part in ("train", "meta", "selection", "test") for score in SCORES), _score),
    **dict.fromkeys(("test_error_median", "lambda_mean"), _score),
    **dict.fromkeys(("seconds", "train_seconds", "cpu_seconds", "loader_share", "meta_share"), is_number),
    **dict.fromkeys(("parameters", "epochs", "steps"), _count),
    "temperature": lambda value: is_number(value) and value >= 1,
    "classes": _all(_text),
    "remarks": _all(_text),
    "images": _section(_count),
    "losses": _section(_score),
    "best_by_meta": lambda value: value is None or (_section(_score)(value) and "epoch" in value),
    "lambda_histogram": _histogram,
    "lambda_quantiles": _section(_score),
    "input": _input,
}
