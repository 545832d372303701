"""From a recipe to the runs of a grid: which cells were asked for, and what each of their runs is given."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from metamixup.errors import UserError, unknown
from metamixup.settings import build
from metamixup.settings.dotted import flat
from metamixup.settings.methods import refuse_former
from metamixup.settings.recipe import read_recipe as recipe_settings
from metamixup.settings.resolve import resolve, settled_precision
from metamixup.settings.schema import Settings
from metamixup.tables.entry import controlled
from metamixup.tables.recipe import Column, Published, Recipe, Values, Variant

# Where files lie says nothing about a result, so it is not part of a run's name.
PATHS = ("data_dir", "replay")
BUDGETS = ("cpu",)  # beside the paper's own


@dataclass(frozen=True)
class Cell:
    """One number of a table: a row of the recipe in a column, or a control of that row. `given` are the dotted settings
    of its runs; `cost` is what a run is expected to take, `seeds` how many there are; a `bound` is no contender."""

    column: str
    model: str
    row: str
    label: str
    given: dict[str, Any] = field(hash=False)
    published: Published | None
    cost: float
    against: str | None = None
    score: str = "test_error"
    control: str = ""
    seeds: int = 1
    bound: bool = False

    @property
    def task(self) -> str:
        return f"{self.column}/{self.model}"

    @property
    def method(self) -> str:
        """As users name it: `metamixup`, `metamixup:reverse`."""
        return controlled(self.row, self.control)

    @property
    def name(self) -> str:
        return f"{self.task}/{self.method}"


@dataclass(frozen=True)
class Run:
    """A cell with a seed. `source` is the run whose final policy a replayed one serves; `shown` is false for a run
    that is there only as such a source."""

    cell: Cell
    seed: int
    folder: Path
    source: "Run | None" = None
    shown: bool = True

    @property
    def given(self) -> dict[str, Any]:
        replay = {"replay": str(self.source.folder)} if self.source else {}
        return {**self.cell.given, **replay, "seed": self.seed}

    def settings(self) -> Settings:
        return resolve(self.given)


@dataclass(frozen=True)
class Choice:
    """What of a table is asked for. `budget` "cpu" is the variant of all images on CPUs; `only` are patterns of cell
    names; `methods` are rows, controls included."""

    quick: bool = False
    budget: str = ""
    only: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: int | None = None
    controls: bool | None = None
    rivals_use_meta: bool = False
    data_dir: str | None = None


def chosen_variant(recipe: Recipe, choice: Choice) -> Variant:
    if not choice.budget:
        return recipe.quick if choice.quick else recipe.full
    if choice.budget not in BUDGETS:
        raise unknown("budget", choice.budget, BUDGETS)
    if choice.quick:
        raise UserError("--quick and --budget cpu are two variants of the table; choose one")
    if recipe.cpu is None:
        raise UserError("this table has no variant for CPUs with all images; --quick is its small one")
    return recipe.cpu


def plan_cells(recipe: Recipe, choice: Choice) -> list[Cell]:
    variant = chosen_variant(recipe, choice)
    controls = variant.controls if choice.controls is None else choice.controls
    offered = {controlled(*planned): planned for row in recipe.rows for planned in _with_controls(recipe, row, True)}
    for method in choice.methods:
        if method not in offered:
            refuse_former(method)
            raise unknown("method of this table", method, offered)
    chosen = {offered[method] for method in choice.methods}
    cells = [
        _cell(recipe, choice, variant, column, *planned)
        for column in variant.columns
        for planned in offered.values()
        if planned in (chosen or _rows_of(recipe, column, controls)) and _applies(recipe, planned[0], column)
    ]
    for pattern in choice.only:
        if not any(fnmatchcase(cell.name, pattern) for cell in cells):
            raise unknown("cell", pattern, [*{f"{c.column}/*": None for c in cells}, *(c.name for c in cells)])
    return [c for c in cells if not choice.only or any(fnmatchcase(c.name, pattern) for pattern in choice.only)]


def plan_runs(cells: Sequence[Cell], seeds: Iterable[int] | None, out: Path) -> list[Run]:
    """Every cell with every seed, or with its own number of them; a source always before the run that replays it."""
    given = None if seeds is None else list(seeds)
    runs: dict[tuple[str, int], Run] = {}
    for cell in cells:
        own = list(range(cell.seeds)) if given is None else given
        for seed in own:
            source = None
            if cell.control == "replay":
                source = _source(cell, seed, own, out, runs)
            runs[cell.name, seed] = _run(cell, seed, out, source)
    return list(runs.values())


def _source(cell: Cell, seed: int, seeds: list[int], out: Path, runs: dict[tuple[str, int], Run]) -> Run:
    """The same cell without the control, of the next seed; with a single seed, an extra run that no table shows."""
    other = seeds[(seeds.index(seed) + 1) % len(seeds)] if len(seeds) > 1 else seed + 1
    given = {**cell.given, "method": cell.given["method"].removesuffix(":replay")}
    learned = replace(cell, given=given, control="", published=None, against=None, score="test_error")
    if (learned.name, other) not in runs:
        runs[learned.name, other] = _run(learned, other, out, shown=False)
    return runs[learned.name, other]


def _run(cell: Cell, seed: int, out: Path, source: Run | None = None, shown: bool = True) -> Run:
    """The folder is named by the settings: another recipe or version of it never takes over old results."""
    kept = {key: value for key, value in _complete(cell.given).items() if key not in PATHS}
    text = json.dumps([kept, seed, source.folder.name if source else None], sort_keys=True)
    name = re.sub(r"[^A-Za-z0-9.+_-]+", "-", f"{cell.column}-{cell.model}-{cell.method}-seed{seed}")
    mark = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return Run(cell, seed, out.absolute() / "runs" / f"{name}-{mark}", source, shown)


def _complete(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return flat(resolve(given).model_dump())
    except UserError:  # told by `problems`, together with all others
        return given


def _with_controls(recipe: Recipe, row: str, controls: bool) -> list[tuple[str, str]]:
    """(row, control): the row itself, and its controls."""
    return [(row, ""), *((row, control) for control in recipe.rows[row].controls if controls)]


def _applies(recipe: Recipe, row: str, column: Column) -> bool:
    return not recipe.rows[row].columns or column.name in recipe.rows[row].columns


def _rows_of(recipe: Recipe, column: Column, controls: bool) -> set[tuple[str, str]]:
    usual = [name for name, row in recipe.rows.items() if not row.on_demand]
    chosen = set(column.rows or column.published or usual)
    chosen |= {name for name, row in recipe.rows.items() if row.beside in chosen}
    return {planned for row in chosen for planned in _with_controls(recipe, row, controls)}


def _cell(recipe: Recipe, choice: Choice, variant: Variant, column: Column, name: str, control: str) -> Cell:
    row = recipe.rows[name]
    method = row.method or name
    given = {
        **(recipe_settings(column.recipe) if column.recipe is not None else {}),
        **flat(variant.base),
        **flat(column.settings),
        **flat(row.settings),
        **_adjusted(variant.adjust, name, row.like),
        **_adjusted(column.adjust, name, row.like),
        **{"data": column.data, "model": column.model, "method": controlled(method, control)},
        "threads": 1,
    }
    given["precision"] = settled_precision(str(given.get("precision", "32")))  # one for all machines of a grid
    if choice.data_dir is not None:
        given["data_dir"] = choice.data_dir
    if choice.rivals_use_meta and not learns({**given, "method": method}):
        given["meta.in_train"] = True
    label = (row.label or name) + (f", control: {control}" if control else "")
    published = None if control else column.published.get(name)
    cost = column.cost * row.cost
    # Where a run is evaluated once, at its end, the median of its evaluations is its last epoch.
    score = row.score if given.get("evaluate_every", 1) < given.get("epochs", 2) else "test_error"
    seeds = column.seeds or variant.seeds_of.get(controlled(name, control), variant.seeds)
    parts = (label, given, published, cost, row.against, score, control, seeds, row.bound)
    return Cell(column.title, column.model, name, *parts)


def _adjusted(adjust: Mapping[str, Values], row: str, like: str | None) -> Values:
    """The dotted settings of a single row, over those of the row that it is like."""
    return {**flat(adjust.get(like or row, {})), **flat(adjust.get(row, {}))}


def learns(given: dict[str, Any]) -> bool:
    """Does a run with these settings learn from its meta set? The others may train on those images when asked to."""
    try:
        return build.learns(resolve(given))
    except UserError:
        return False
