"""A table of the paper as data: base settings, rows (methods), columns (data and model), and the published numbers.

Adding a table is adding a TOML file to `paper/`; adding a method to a table is adding a row to its file.
"""

import tomllib
from collections.abc import Collection
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from metamixup.errors import UserError, unknown
from metamixup.settings.code import refuse_code
from metamixup.settings.dotted import flat
from metamixup.storage import read_record

Values = dict[str, Any]
Count = Annotated[int, Field(ge=1)]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Published(Part):
    """A number of the paper, in percent. `mark` says that the paper took it over from another one."""

    error: float
    top5: float | None = None
    std: float | None = None
    mark: str | None = None


def _number(value: Any) -> Any:
    return {"error": value} if isinstance(value, int | float) else value


class Row(Part):
    """A method with its settings. `beside` names the row next to which it runs in every column; `controls` are run
    as rows of their own on demand; `cost` is the expected time of a run, the baseline's being 1. `against` is the row
    that its difference is taken to, where it is not the recipe's; `score` is the number of a run that counts;
    `on_demand` rows run only where they are named, rows with `columns` only in those. `like` names the row whose
    `adjust` it has too. A `bound` knows more than the others do, and is no contender."""

    method: str | None = None
    label: str | None = None
    settings: Values = {}
    like: str | None = None
    beside: str | None = None
    controls: tuple[str, ...] = ()
    against: str | None = None
    score: Literal["test_error", "test_error_median"] = "test_error"
    on_demand: bool = False
    columns: tuple[str, ...] = ()
    bound: bool = False
    cost: float = 1.0


class Column(Part):
    """Data and model. Its rows are those with a published number, or those that `rows` lists; `cost` is what one run
    of the baseline is expected to take, in the variant's unit. `recipe` names settings to start from (`metamixup ls
    recipes`); `adjust` are settings of single rows here, `seeds` how many all of them run."""

    data: str
    model: str
    name: str | None = None
    rows: tuple[str, ...] | None = None
    recipe: str | None = None
    settings: Values = {}
    adjust: dict[str, Values] = {}
    published: dict[str, Annotated[Published, BeforeValidator(_number)]] = {}
    seeds: Count | None = None
    cost: float = 0.0

    @property
    def title(self) -> str:
        return self.name or self.data


class Variant(Part):
    """One way to run a table: in full, quick, or with all images on CPUs. `unit` is what its costs are counted in;
    `seeds_of` are rows that run another number of seeds; `adjust` are settings of single rows in it."""

    note: str = ""
    unit: Literal["GPU h", "CPU s"] = "GPU h"
    seeds: Count = 1
    seeds_of: dict[str, Count] = {}
    controls: bool = False
    base: Values = {}
    adjust: dict[str, Values] = {}
    columns: tuple[Column, ...]


class Recipe(Part):
    title: str
    baseline: str = "baseline"
    reference: str = "mixup"
    marks: dict[str, str] = {}
    rows: dict[str, Row]
    full: Variant
    quick: Variant
    cpu: Variant | None = None

    @property
    def variants(self) -> tuple[Variant, ...]:
        return (self.full, self.quick, *(() if self.cpu is None else (self.cpu,)))

    @model_validator(mode="after")
    def names_fit(self) -> "Recipe":
        named = [
            (f"row {name!r}, {key}", other)
            for name, row in self.rows.items()
            for key in ("like", "beside", "against")
            if (other := getattr(row, key))
        ]
        for variant in self.variants:
            named += [("adjust", row) for row in variant.adjust]
            named += [("seeds_of", row) for row in variant.seeds_of]
            for column in variant.columns:
                where = f"column {column.title}/{column.model}"
                named += [(where, row) for row in (*column.published, *column.adjust, *(column.rows or ()))]
        for where, row in named:
            if row not in self.rows:
                raise ValueError(f"{where}: {unknown('row', row, self.rows)}")
        for variant in self.variants:
            _refuse_namesakes([f"{column.title}/{column.model}" for column in variant.columns])
        numbers = [p for variant in self.variants for c in variant.columns for p in c.published.values()]
        unmarked = {number.mark for number in numbers if number.mark} - set(self.marks)
        if unmarked:
            raise ValueError(f"marks without an explanation: {', '.join(sorted(unmarked))}")
        return self


def _refuse_namesakes(columns: list[str]) -> None:
    """The results of two columns of one name could not be told apart."""
    for name in columns:
        if columns.count(name) > 1:
            raise ValueError(f"{columns.count(name)} columns are called {name}; give each a `name` of its own")


def refuse_strange_code(recipe: Recipe, where: str, named: Collection[str] = ()) -> None:
    """Raise if a recipe file would import code that the user has not named, before anything of it is used."""
    columns = [column for variant in recipe.variants for column in variant.columns]
    settings = [variant.base for variant in recipe.variants]
    settings += [values for variant in recipe.variants for values in variant.adjust.values()]
    settings += [values for column in columns for values in (column.settings, *column.adjust.values())]
    settings += [row.settings for row in recipe.rows.values()]
    for values in settings:
        refuse_code(flat(values), where, named)
    for column in columns:
        refuse_code({"data": column.data, "model": column.model}, where, named)
    for name, row in recipe.rows.items():
        refuse_code({"method": row.method or name}, where, named)


def known_tables() -> list[str]:
    return sorted(p.name.removesuffix(".toml") for p in _paper().iterdir() if p.name.endswith(".toml"))


PARTS = (Recipe, Variant, Column, Row, Published)


def load_recipe(name: str) -> Recipe:
    """A table of the paper by name, or a recipe of the user's own by its path."""
    from metamixup.tables.gauntlet import draw_recipe, known_gauntlets  # it is made of what stands here

    if name.endswith(".toml"):
        return read_recipe(Path(name))
    if name in known_gauntlets():
        return draw_recipe(name)
    if name not in known_tables():
        raise unknown("table", name, [*known_tables(), *known_gauntlets()])
    with resources.as_file(_paper() / f"{name}.toml") as path:
        return read_recipe(path)


def read_recipe(path: Path) -> Recipe:
    try:
        return Recipe.model_validate(tomllib.loads(read_record(path, "utf-8-sig")))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        raise UserError("\n".join(f"{path}: {problem}" for problem in _problems(error))) from error


def _problems(error: ValidationError) -> list[str]:
    """All of them, each with its place and, for an unknown key, the nearest one that exists."""
    told = []
    for found in error.errors():
        where = ".".join(str(part) for part in found["loc"])
        if found["type"] == "extra_forbidden":
            told.append(f"{where}: {_misplaced(str(found['loc'][-1]))}")
        else:
            told.append(f"{where}: {found['msg'].removeprefix('Value error, ')}".removeprefix(": "))
    return told


def _misplaced(key: str) -> str:
    homes = [part.__name__.lower() for part in PARTS if key in part.model_fields]
    return f"key {key!r} belongs to a {' or a '.join(homes)}, not here" if homes else str(unknown("key", key, _keys()))


def _keys() -> list[str]:
    return sorted({key for part in PARTS for key in part.model_fields})


def _paper() -> Any:
    return resources.files("metamixup.tables") / "paper"
