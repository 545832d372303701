"""What would stop the runs of a grid, found before the first one starts: settings, data, splits and models."""

from collections.abc import Sequence

from metamixup import models
from metamixup.data import DataSet
from metamixup.errors import UserError
from metamixup.settings.build import build_data, build_split
from metamixup.settings.registry import make_estimator, make_policy
from metamixup.settings.schema import Settings
from metamixup.tables.cells import Run


def refuse_problems(runs: Sequence[Run]) -> None:
    """Raise one error that tells all of them, each once, with the first cell that has it."""
    checker, told = Checker(), dict[str, str]()
    for run in runs:
        problem = checker(run)
        if problem is not None:
            told.setdefault(problem, run.cell.name)
    if told:
        lines = [f"  {name}: {problem}" for problem, name in told.items()]
        raise UserError("\n".join([f"nothing was started, since {len(told)} problem(s) stand in the way:", *lines]))


class Checker:
    """Remembers what it has loaded and checked, so that a grid of hundreds of runs is checked in seconds."""

    def __init__(self) -> None:
        self.data: dict[tuple[object, ...], DataSet | str] = {}
        self.seen: dict[tuple[object, ...], str | None] = {}

    def __call__(self, run: Run) -> str | None:
        try:
            settings = run.settings()
            found = self.load(settings)
            if run.source is None:
                make_estimator(settings.estimator, make_policy(settings, found.shape[1:]))
        except UserError as error:
            return str(error)
        # The seed decides which images are in a split, not whether it can be made.
        key = (settings.data, settings.subset, settings.image_size, settings.model, settings.meta, settings.ssl)
        if key not in self.seen:
            self.seen[key] = self.fit(settings, found)
        return self.seen[key]

    def load(self, settings: Settings) -> DataSet:
        key = (settings.data, settings.data_dir, settings.image_size, settings.subset)
        if key not in self.data:
            try:
                self.data[key] = build_data(settings)
            except UserError as error:
                self.data[key] = str(error)
        found = self.data[key]
        if isinstance(found, str):
            raise UserError(found)
        return found

    def fit(self, settings: Settings, found: DataSet) -> str | None:
        try:
            build_split(settings, found)
            models.check(settings.model, found.num_classes, found.shape[0], found.shape[1:])
        except UserError as error:
            return str(error)
        return None
