"""What stands around a table in words, made from resolved settings: what runs were given, and where λ came from."""

from collections.abc import Mapping, Sequence
from typing import Any

from metamixup.errors import UserError
from metamixup.settings.choices import POLICIES
from metamixup.settings.dotted import flat
from metamixup.settings.resolve import resolve
from metamixup.settings.schema import Settings
from metamixup.tables.cells import Cell
from metamixup.tables.entry import Entry

MEDIAN = "the median of the last 20 epochs"
PROCESSORS = "Figures move between kinds of processor, with the same code and seed: compare within a table only."


def settings_of(cell: Cell) -> Settings | None:
    """None for settings that do not resolve, which the check before a grid tells of."""
    try:
        return resolve(cell.given)
    except UserError:
        return None


def budget(cell: Cell) -> str:
    """What a run of the cell is given."""
    settings = settings_of(cell)
    return "" if settings is None else f"{images(settings)}, {settings.epochs} epochs, batches of {settings.batch_size}"


def images(settings: Settings) -> str:
    told = "all training images" if settings.subset is None else f"{settings.subset:,} training images"
    if settings.meta.source == "none":
        return f"{told}, no meta set"
    if settings.ssl.labels is None:
        return f"{told}, meta images {'trained on too' if settings.meta.in_train else 'held out'}"
    extra = " and those of a meta set beside them" if settings.ssl.meta == "extra" else ", which are the meta set too"
    return f"{told} with {settings.ssl.labels:,} labels{extra}"


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
    """Which methods train on the meta images too."""
    resolved = [settings for cell in cells if (settings := settings_of(cell)) is not None]
    if any(settings.ssl.labels is not None for settings in resolved):
        if all(settings.ssl.meta == "labelled" for settings in resolved):
            return "The labelled images serve as the meta set, so that all methods have the same labels."
        return "The meta set has labels of its own, beside those that are counted."
    kept = {settings.meta.in_train for settings in resolved}
    if kept == {True}:
        return "All methods train on the meta images too, so that they see the same images."
    if kept == {False}:
        return "The meta images are held out for all methods, so that they see the same images."
    return "Methods that learn nothing from the meta images train on them."


def budgets(cells: Sequence[Cell]) -> list[str]:
    """What each column's runs are given, in one line."""
    told: dict[str, str] = {}
    for cell in cells:
        told.setdefault(cell.task, f"{cell.column} with {cell.model}: {budget(cell)}.")
    return list(told.values())


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
