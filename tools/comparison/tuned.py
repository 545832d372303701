"""Rivals that were tuned: MixUp, Manifold MixUp and CutMix, each with the α that the selection set prefers. The test
set has no say."""

import re
from dataclasses import dataclass
from statistics import fmean

from tools.comparison.tasks import Task

MIXUP = "mixup"
FAMILIES = {"MixUp": MIXUP, "Manifold MixUp": "manifold", "CutMix": "cutmix"}  # by the names of their rows: mixup-0.5


@dataclass(frozen=True)
class Tuned:
    """`errors`: mean selection error of every α over the seeds that all of them have; `untried`: α without a run."""

    method: str
    alpha: str
    seeds: tuple[int, ...]
    errors: dict[str, float]
    untried: tuple[str, ...]


def by_alpha(task: Task, family: str = MIXUP) -> list[str]:
    """The rows of a family, one an α."""
    return [method for method in task.labels if re.fullmatch(rf"{family}(-[\d.]+)?", method)]


def alpha(task: Task, method: str) -> str:
    """`α = 0.5`, from `MixUp, α = 0.5`."""
    return task.labels[method].rpartition(", ")[2]


def tuned(task: Task, family: str = MIXUP) -> Tuned | None:
    """The α that does best on the selection set; None where none has been run."""
    tried = [method for method in by_alpha(task, family) if task.values(method, "selection_error")]
    shared = _shared(task, tried)
    while tried and not shared:  # the one with the fewest seeds is left out, so that the others can be compared
        tried.remove(min(tried, key=lambda method: len(task.values(method, "selection_error"))))
        shared = _shared(task, tried)
    if not tried:
        return None

    def mean(method: str, key: str) -> float:
        values = task.values(method, key)
        return fmean(values[seed] for seed in shared if seed in values) if set(values) & set(shared) else 0.0

    # On a small selection set errors tie; the loss then decides.
    best = min(tried, key=lambda method: (round(mean(method, "selection_error"), 9), mean(method, "selection_nll")))
    errors = {method: mean(method, "selection_error") for method in tried}
    untried = tuple(alpha(task, method) for method in by_alpha(task, family) if method not in tried)
    return Tuned(best, alpha(task, best), shared, errors, untried)


def _shared(task: Task, methods: list[str]) -> tuple[int, ...]:
    seeds = [set(task.values(method, "selection_error")) for method in methods]
    return tuple(sorted(set.intersection(*seeds))) if seeds else ()
