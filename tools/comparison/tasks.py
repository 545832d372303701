"""The tasks of a comparison: what the recipe plans, with the records of the runs that are finished.

A file `winners.jsonl` belongs to the recipe of that name, so that what has not been run is known to be missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from metamixup.tables.cells import Cell, Choice, plan_cells
from metamixup.tables.entry import Difference, mean_of, paired, std_of
from metamixup.tables.recipe import Recipe, load_recipe
from metamixup.tables.records import Record, read_records
from metamixup.tables.sentences import learning

OURS, BASELINE = "trustmix", "baseline"
DATA = {"digits": "Digits", "mnist": "MNIST", "fashion": "Fashion-MNIST", "cifar10": "CIFAR-10"}


@dataclass(frozen=True)
class Task:
    """labels: the planned methods in the recipe's order; learning: where λ comes from in each; controls: those of them
    that are no contenders; found: records by method and seed. A task on which only some of the methods are planned is
    shown, and no claim is about it."""

    name: str
    title: str
    imperfect: bool
    claimed: bool
    seeds: int
    labels: dict[str, str]
    learning: dict[str, str]
    controls: frozenset[str]
    found: dict[str, dict[int, Record]]

    def values(self, method: str, key: str = "test_error") -> dict[int, float]:
        """By seed, where it was measured."""
        records = self.found.get(method, {})
        return {seed: record[key] for seed, record in sorted(records.items()) if record.get(key) is not None}

    def shared(self, methods: Sequence[str | None], key: str = "test_error") -> tuple[int, ...]:
        """The seeds that all of these methods have, those without any run left out: means over them can be compared."""
        run = [set(values) for method in methods if method and (values := self.values(method, key))]
        return tuple(sorted(set.intersection(*run))) if run else ()

    def mean(self, method: str, key: str = "test_error", seeds: Sequence[int] | None = None) -> float | None:
        """Over these seeds, or over all that there are."""
        return mean_of(self._chosen(method, key, seeds))

    def std(self, method: str, key: str = "test_error", seeds: Sequence[int] | None = None) -> float | None:
        return std_of(self._chosen(method, key, seeds))

    def _chosen(self, method: str, key: str, seeds: Sequence[int] | None) -> list[float]:
        return [value for seed, value in self.values(method, key).items() if seeds is None or seed in seeds]

    def curve(self, method: str, key: str) -> dict[float, float]:
        """A number by epoch, mean over the seeds whose records tell it."""
        by_epoch: dict[float, list[float]] = {}
        for record in self.found.get(method, {}).values():
            for epoch, value in record.get(key, []):
                if value is not None:
                    by_epoch.setdefault(epoch, []).append(value)
        return {epoch: fmean(values) for epoch, values in sorted(by_epoch.items())}

    def cost_ratio(self, ours: str, theirs: str) -> float | None:
        """CPU time of one by that of the other, over the seeds that both have on one kind of processor."""
        mine, other = self.values(ours, "cpu_seconds"), self.values(theirs, "cpu_seconds")
        where = [{s: r.get("processor") for s, r in self.found.get(method, {}).items()} for method in (ours, theirs)]
        both = [seed for seed in mine if seed in other and where[0][seed] == where[1][seed]]
        total = sum(other[seed] for seed in both)
        return sum(mine[seed] for seed in both) / total if total else None

    def difference(
        self, ours: str, theirs: str, key: str = "test_error", seeds: Sequence[int] | None = None
    ) -> Difference | None:
        """Ours minus theirs over the seeds that both have."""
        mine, other = self.values(ours, key), self.values(theirs, key)
        both = [seed for seed in mine if seed in other and (seeds is None or seed in seeds)]
        return paired([mine[seed] - other[seed] for seed in both])


def read_tasks(path: Path) -> list[Task]:
    return plan_tasks(load_recipe(path.stem), read_records(path))


def plan_tasks(recipe: Recipe, records: Sequence[Record]) -> list[Task]:
    """In the order of the recipe's columns. Records of what it does not plan (any more) are left out."""
    columns: dict[str, list[Cell]] = {}
    for cell in plan_cells(recipe, Choice(controls=True)):
        columns.setdefault(cell.column, []).append(cell)
    partial = {column.title for column in recipe.full.columns if column.rows is not None}
    found: dict[str, dict[int, Record]] = {}
    for record in records:
        found.setdefault(record["cell"], {})[record["seed"]] = record
    return [_task(name, cells, recipe.full.seeds, name not in partial, found) for name, cells in columns.items()]


def _task(name: str, cells: list[Cell], seeds: int, claimed: bool, found: dict[str, dict[int, Record]]) -> Task:
    return Task(
        name=name,
        title=title(cells[0].given),
        imperfect=cells[0].given.get("corrupt.kind", "none") != "none",
        claimed=claimed,
        seeds=seeds,
        labels={cell.method: cell.label for cell in cells},
        learning={cell.method: learning(cell) for cell in cells},
        controls=frozenset(cell.method for cell in cells if cell.control or cell.bound),
        found={cell.method: found.get(cell.name, {}) for cell in cells},
    )


def title(given: dict[str, Any]) -> str:
    """What a task is, for people, from its settings."""
    kind, percent = given.get("corrupt.kind", "none"), f"{100 * given.get('corrupt.share', 0):g} %"
    spoilt = {
        "replace": f"{percent} of labels replaced",
        "neighbours": f"{percent} swapped for the next class",
        "long-tail": f"long tail of {given.get('corrupt.ratio', 50):g} : 1",
    }
    name = DATA.get(given["data"], str(given["data"]))
    if kind in spoilt:
        return f"{name}, {spoilt[kind]}"
    if "subset" in given:
        return f"{name}, {given['subset']:,} images"
    return name if given["data"] == "digits" else f"{name}, all images"
