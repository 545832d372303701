"""What would stop the runs of a grid, found before the first one starts: settings, data, splits, streams, models and
start weights."""

from collections.abc import Sequence

from metamixup.data import DataSet
from metamixup.errors import UserError
from metamixup.settings.build import (
    build_data,
    build_model,
    build_split,
    build_streams,
    built,
    check_method,
    check_model,
    corrupt,
    make_estimator,
    make_policy,
    prepare_start,
)
from metamixup.settings.methods import method_entry
from metamixup.settings.schema import Settings, StartSettings
from metamixup.tables.cells import Run

# What decides when a run ends, how fast it goes or what it draws, not whether it can be made.
HARMLESS = {"seed", "epochs", "threads", "device", "compile", "evaluate_every", "checkpoint_minutes"}


def refuse_problems(runs: Sequence[Run]) -> None:
    """Raise one error that tells all of them, each once, with the first cell that has it."""
    checker, told = Checker(), dict[str, str]()
    for run in runs:
        for problem in checker(run):
            told.setdefault(problem, run.cell.name)
    if told:
        lines = [f"  {name}: {problem}" for problem, name in told.items()]
        raise UserError("\n".join([f"nothing was started, since {len(told)} problem(s) stand in the way:", *lines]))


class Checker:
    """Loads each data set and checks each setting once, so that a grid of hundreds of runs is checked in seconds."""

    def __init__(self) -> None:
        self.data: dict[str, DataSet | str] = {}
        self.checked: dict[str, list[str]] = {}

    def __call__(self, run: Run) -> list[str]:
        try:
            settings = run.settings()
            found = self.load(settings)
        except UserError as error:
            return [str(error)]
        key = settings.model_dump_json(exclude=HARMLESS)
        if key not in self.checked:
            self.checked[key] = problems(settings, found, replayed=run.source is not None)
        return self.checked[key]

    def load(self, settings: Settings) -> DataSet:
        key = settings.model_dump_json(
            include={"data", "data_dir", "image_size", "classes", "subset", "selection", "pixels"}
        )
        if key not in self.data:
            try:
                self.data[key] = build_data(settings)
            except UserError as error:
                self.data[key] = str(error)
        found = self.data[key]
        if isinstance(found, str):
            raise UserError(found)
        return found


def problems(settings: Settings, found: DataSet, replayed: bool) -> list[str]:
    """All reasons why such a run cannot be made; `replayed`: its policy is one that another run has yet to learn."""

    def fit_policy() -> None:
        make_estimator(settings.estimator, make_policy(settings))

    def fit_streams() -> None:
        method = built(lambda: method_entry(settings.method).make(settings))
        check_method(settings, found, method)
        spoilt, parts, _ = corrupt(settings.corrupt, found, build_split(settings, found), settings.seed)
        built(lambda: build_streams(settings, spoilt, parts, method))

    def fit_model() -> None:
        check_model(settings, found)
        if settings.start != StartSettings():
            prepare_start(settings.start, build_model(settings, found))

    told = []
    for part in (fit_streams, fit_model) if replayed else (fit_policy, fit_streams, fit_model):
        try:
            part()
        except UserError as error:
            told.append(str(error))
    return list(dict.fromkeys(told))
