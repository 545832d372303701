"""What stands around a table in words, made from resolved settings: what runs were given, and where λ came from."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from metamixup.data import known_data
from metamixup.data.glance import glance
from metamixup.errors import UserError
from metamixup.settings.choices import POLICIES
from metamixup.settings.dotted import flat
from metamixup.settings.resolve import resolve
from metamixup.settings.schema import Settings
from metamixup.tables.cells import Cell
from metamixup.tables.entry import Entry

MEDIAN = "the median of the last 20 epochs"
PROCESSORS = "Figures move between kinds of processor, with the same code and seed: compare within a table only."
CLASSES = {"cifar100": 100, "cifar100-coarse": 20, "imagenet": 1000}  # the other data sets that have a name have 10
SAME = {  # by where the meta set of all rows is from
    "labelled": "The labelled images serve as the meta set, so that all methods have the same labels.",
    "extra": "The meta set has labels of its own, which are counted.",
    "in train": "All methods train on the meta images too, so that they see the same images.",
    "held out": "The meta images are held out for all methods, so that they see the same images.",
    "none": "No method has a meta set, so that they see the same images.",
}


def settings_of(cell: Cell) -> Settings | None:
    """None for settings that do not resolve, which the check before a grid tells of."""
    try:
        return resolve(cell.given)
    except UserError:
        return None


def budget(cell: Cell) -> str:
    """What a run of the cell is given."""
    return ", ".join(parts(cell))


def parts(cell: Cell) -> tuple[str, ...]:
    """The same one by one, so that rows can be told by what differs."""
    settings = settings_of(cell)
    if settings is None:
        return ()
    images = "all training images" if settings.subset is None else f"{settings.subset:,} training images"
    told = (images, meta_set(settings), f"{settings.epochs:,} epochs", f"batches of {settings.batch_size}")
    return told if settings.precision == "32" else (*told, f"in {settings.precision}")


def meta_set(settings: Settings) -> str:
    """Where it is from; with few labels also how many there are, those of the meta set included."""
    kept = "trained on too" if settings.meta.in_train else "held out"
    labels = settings.ssl.labels
    if labels is None:
        return "no meta set" if settings.meta.source == "none" else f"meta images {kept}"
    if settings.ssl.meta == "labelled":
        return f"{labels:,} labels that are the meta set too"
    extra = extra_labels(settings)
    if extra is None:
        return f"{labels:,} labels and those of a meta set, {kept}"
    return f"{labels + extra:,} labels ({extra:,} of them of the meta set, {kept})"


def extra_labels(settings: Settings) -> int | None:
    """How many labels the meta set has beside the others; None where only the loaded images would tell."""
    per_class, classes = settings.meta.per_class, settings.classes or _classes(settings)
    return None if per_class is None or classes is None else per_class * classes


def _classes(settings: Settings) -> int | None:
    if settings.data in known_data():
        return CLASSES.get(settings.data, 10)
    own = glance(settings.data, settings.image_size)
    return None if own is None else own.classes


def learning(cell: Cell) -> str:
    """Policy, projection and estimator; what does not apply to the policy is left out."""
    settings = settings_of(cell)
    return "" if settings is None else learning_told(flat(settings.model_dump()))


def learning_told(settings: Mapping[str, Any]) -> str:
    """The same of dotted settings, which a run folder may hold; a policy of a user's own is told by its name alone."""
    policy = str(settings.get("policy.name", ""))
    learned = policy in POLICIES and getattr(POLICIES[policy].maker, "learned", False)
    told = [settings.get("policy.projection"), settings.get("estimator.name")] if learned else []
    return " · ".join(str(part) for part in (policy, *told) if part)


def meta_images(cells: Sequence[Cell]) -> str:
    """Do all rows of a column see the same images and labels, and how so?"""
    resolved = [(cell.task, settings) for cell in cells if (settings := settings_of(cell)) is not None]
    seen = {(task, settings.subset, meta_set(settings)) for task, settings in resolved}
    if len(seen) > len({task for task, _ in resolved}):
        return "Rows differ in the images or labels that they see, as told above."
    kinds = {_kind(settings) for _, settings in resolved}
    return SAME[kinds.pop()] if len(kinds) == 1 else "All methods of a column see the same images."


def _kind(settings: Settings) -> str:
    if settings.ssl.labels is not None:
        return settings.ssl.meta
    return "none" if settings.meta.source == "none" else "in train" if settings.meta.in_train else "held out"


def budgets(cells: Sequence[Cell]) -> list[str]:
    """What each column's runs are given, in one line: what most rows are, and what others have in its place."""
    columns: dict[str, dict[tuple[str, ...], dict[str, None]]] = {}
    for cell in cells:
        if given := parts(cell):  # a control is given what its row is, so that rows are enough to name
            columns.setdefault(f"{cell.column} with {cell.model}", {}).setdefault(given, {})[cell.row] = None
    return [_budget_of_column(column, groups) for column, groups in columns.items()]


def _budget_of_column(column: str, groups: Mapping[tuple[str, ...], Collection[str]]) -> str:
    usual = max(groups, key=lambda given: len(groups[given]))
    told = [f"{column}: {', '.join(usual)}."]
    for given, rows in groups.items():
        if given != usual:
            told.append(f"For {_names(rows)}: {', '.join(part for part in given if part not in usual)}.")
    return " ".join(told)


def _names(rows: Collection[str]) -> str:
    *others, last = (f"`{row}`" for row in rows)
    return f"{', '.join(others)} and {last}" if others else last


def how_to_read(entries: Sequence[Entry], reference: str) -> list[str]:
    """What the numbers are, and what they were measured on."""
    by_median = sorted({entry.name for entry in entries if entry.score == "test_error_median"})
    every = bool(by_median) and len(by_median) == len({entry.name for entry in entries})
    score = MEDIAN if every else "the last epoch"
    others = f" (of {', '.join(f'`{name}`' for name in by_median)}: {MEDIAN})" if by_median and not every else ""
    fixed = (
        f"Mean ± standard deviation of the test error, that of {score}{others}, over the seeds that all rows of a task "
        f"share (a row of one seed is a direction, no more); the difference is to `{reference}` unless another row is "
        "named, paired by seed, with its 95 % t-interval; cost is the training time (on a CPU: its own time) against "
        "the baseline's."
    )
    processors = sorted({processor for entry in entries for processor in entry.processors})
    return [fixed, PROCESSORS + (f" Run on: {'; '.join(processors)}." if processors else "")]
