"""The numbers of a table: errors by seed, their mean and deviation, the paired difference to MixUp with its 95 %
interval, the published number, and the cost against the baseline."""

from collections.abc import Mapping, Sequence
from typing import Any

from metamixup.tables.cells import Cell
from metamixup.tables.entry import Entry, drawable, mean_of, paired, std_of
from metamixup.tables.sentences import budget, learning

Summaries = Mapping[tuple[str, int], dict[str, Any]]  # by cell name and seed


def make_table(cells: Sequence[Cell], summaries: Summaries, reference: str, baseline: str) -> list[Entry]:
    """One entry a cell, in the order of the cells."""
    return [_entry(cell, summaries, reference, baseline) for cell in cells]


def _entry(cell: Cell, summaries: Summaries, reference: str, baseline: str) -> Entry:
    mine = _by_seed(summaries, cell.name)
    reference = cell.against or reference
    theirs = _by_seed(summaries, f"{cell.task}/{reference}")
    usual = mean_of([_cost(s) for s in _by_seed(summaries, f"{cell.task}/{baseline}").values()])
    cost = mean_of([_cost(s) for s in mine.values()])
    differences = [mine[seed][cell.score] - theirs[seed][cell.score] for seed in mine if seed in theirs]
    published = cell.published
    return Entry(
        task=cell.task,
        method=cell.row,
        control=cell.control,
        label=cell.label,
        budget=budget(cell),
        learning=learning(cell),
        **measured(mine, cell.score),
        published=published.error if published else None,
        published_std=published.std if published else None,
        published_top5=published.top5 if published else None,
        provenance=(published.mark or "paper") if published else None,
        cost_ratio=round(cost / usual, 6) if cost and usual else None,
        against=reference,
        bound=cell.bound,
        difference=None if cell.method == reference else paired(differences),
    )


SCORES = {"top5": "test_error_top5", "nll": "test_nll", "ece": "test_ece", "seconds": "train_seconds"}


def measured(summaries: Mapping[int, Mapping[str, Any]], score: str) -> dict[str, Any]:
    """What the runs of a cell came to, by seed, as parts of an entry."""
    errors = tuple(s[score] for s in summaries.values())
    return {
        "seeds": tuple(summaries),
        "errors": errors,
        "mean": mean_of(errors),
        "std": std_of(errors),
        "score": score,
        **{name: _mean_score(summaries, key) for name, key in SCORES.items()},
        "processors": _told(summaries, "processor"),
        "versions": _told(summaries, "version"),
    }


def _told(summaries: Mapping[int, Mapping[str, Any]], key: str) -> tuple[str, ...]:
    return tuple(sorted({str(s[key]) for s in summaries.values() if s.get(key)}))


def _mean_score(summaries: Mapping[int, Mapping[str, Any]], key: str) -> float | None:
    found = [drawable(s.get(key)) for s in summaries.values()]
    return mean_of([value for value in found if value is not None])


def _cost(summary: dict[str, Any]) -> float:
    """On a CPU its own time, since others may share the cores; elsewhere the time that passed."""
    return summary["cpu_seconds"] if summary.get("device") == "cpu" else summary["train_seconds"]


def _by_seed(summaries: Summaries, name: str) -> dict[int, dict[str, Any]]:
    return {seed: summaries[cell, seed] for cell, seed in sorted(summaries) if cell == name}
