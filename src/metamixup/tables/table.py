"""The numbers of a table: errors by seed, their mean and deviation, the paired difference to MixUp with its 95 %
interval, the published number, and the cost against the baseline."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from metamixup.tables.cells import Cell

Summaries = Mapping[tuple[str, int], dict[str, Any]]  # by cell name and seed


def make_table(cells: Sequence[Cell], summaries: Summaries, reference: str, baseline: str) -> list[dict[str, Any]]:
    """One entry a cell, in the order of the cells; what has not been measured is None or empty."""
    return [_entry(cell, summaries, reference, baseline) for cell in cells]


def _entry(cell: Cell, summaries: Summaries, reference: str, baseline: str) -> dict[str, Any]:
    mine = _by_seed(summaries, cell.name)
    reference = cell.against or reference
    theirs = _by_seed(summaries, f"{cell.column}/{cell.model}/{reference}")
    usual = _mean([_cost(s) for s in _by_seed(summaries, f"{cell.column}/{cell.model}/{baseline}").values()])
    cost = _mean([_cost(s) for s in mine.values()])
    errors = [s[cell.score] for s in mine.values()]
    both = [seed for seed in mine if seed in theirs]
    differences = [mine[seed][cell.score] - theirs[seed][cell.score] for seed in both]
    published = cell.published
    return {
        "cell": cell.name,
        "method": cell.row,
        "label": cell.label,
        "budget": budget(cell),
        "seeds": list(mine),
        "error": errors,
        "mean": _mean(errors),
        "std": _std(errors),
        "top5": _mean([s["test_error_top5"] for s in mine.values() if s.get("test_error_top5") is not None]),
        "nll": _mean([s["test_nll"] for s in mine.values() if s.get("test_nll") is not None]),
        "ece": _mean([s["test_ece"] for s in mine.values() if s.get("test_ece") is not None]),
        "published": published.error if published else None,
        "published_std": published.std if published else None,
        "published_top5": published.top5 if published else None,
        "provenance": (published.mark or "paper") if published else None,
        "seconds": _mean([s["train_seconds"] for s in mine.values()]),
        "cost_ratio": _rounded(cost / usual) if cost and usual else None,
        "against": reference,
        "paired_vs_mixup": None if cell.row == reference else paired(differences),
    }


def budget(cell: Cell) -> str:
    """What a run of the cell is given, in a few words."""
    given = cell.given
    images = f"{given['subset']:,} training images" if "subset" in given else "all training images"
    images += f" with {given['ssl.labels']:,} labels" if "ssl.labels" in given else ""
    meta = ", meta images trained on too" if given.get("meta.in_train") else ""
    return f"{images}, {given.get('epochs', '?')} epochs, batches of {given.get('batch_size', '?')}{meta}"


def paired(differences: Sequence[float]) -> dict[str, float | None] | None:
    """Mean of the differences by seed and its 95 % t-interval, which takes two of them."""
    if not differences:
        return None
    mean, std = _mean(differences), _std(differences)
    assert mean is not None
    if std is None:
        return {"diff": mean, "low": None, "high": None}
    from scipy.stats import t

    half = float(t.ppf(0.975, len(differences) - 1)) * std / math.sqrt(len(differences))
    return {"diff": mean, "low": _rounded(mean - half), "high": _rounded(mean + half)}


def _cost(summary: dict[str, Any]) -> float:
    """On a CPU its own time, since others may share the cores; elsewhere the time that passed."""
    return summary["cpu_seconds"] if summary.get("device") == "cpu" else summary["train_seconds"]


def _by_seed(summaries: Summaries, name: str) -> dict[int, dict[str, Any]]:
    return {seed: summaries[cell, seed] for cell, seed in sorted(summaries) if cell == name}


def _mean(values: Sequence[float]) -> float | None:
    return _rounded(sum(values) / len(values)) if values else None


def _std(values: Sequence[float]) -> float | None:
    """The deviation of a sample; one value has none."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return _rounded(math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)))


def _rounded(value: float) -> float:
    return round(value, 6)
