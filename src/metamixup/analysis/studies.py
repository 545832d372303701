"""The studies by name: what each takes, and how it is made from run folders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metamixup.analysis.features import features_study
from metamixup.analysis.intrusion_study import SAMPLES, intrusion_study
from metamixup.analysis.lambda_by_class import lambda_by_class_study
from metamixup.analysis.lambda_frequency import lambda_frequency_study
from metamixup.analysis.lipschitz_study import SEGMENTS, lipschitz_study
from metamixup.analysis.loss import loss_study
from metamixup.analysis.rebuild import Rebuilt, rebuild
from metamixup.analysis.records import Records, read_run
from metamixup.analysis.study import Study
from metamixup.analysis.sweep import SIGMA, VALIDATION_SIZE, Sweep, sweep_runs, sweep_study
from metamixup.errors import UserError, unknown


@dataclass(frozen=True)
class Options:
    """What a user may say beside the runs; None: the study's own default."""

    out: Path
    data_dir: str | None = None
    epochs: list[int] | None = None
    values: list[float] | None = None
    seeds: int | None = None
    samples: int | None = None


@dataclass(frozen=True)
class Entry:
    """`takes` names the options of this study; the others are refused."""

    about: str
    make: Callable[[Sequence[Path], Options], Study]
    takes: tuple[str, ...] = ()


def _records(paths: Sequence[Path]) -> list[Records]:
    return [read_run(path) for path in paths]


def _rebuilt(paths: Sequence[Path], options: Options) -> list[Rebuilt]:
    return [rebuild(path, options.data_dir) for path in paths]


def _by_class(paths: Sequence[Path], options: Options) -> Study:
    return lambda_by_class_study(_records(paths), options.epochs)


def _frequency(paths: Sequence[Path], options: Options) -> Study:
    return lambda_frequency_study(_records(paths), *(options.values or [1.0])[:1])


def _swept(sweep: Sweep) -> Callable[[Sequence[Path], Options], Study]:
    def make(paths: Sequence[Path], options: Options) -> Study:
        """Runs that differ in the setting are taken as the sweep; others are where one starts from."""
        runs = _records(paths)
        if len({run.setting(sweep.key) for run in runs}) < 2 or options.values:
            runs = sweep_runs(paths, sweep.key, options.values or sweep.values, options.seeds or 1, options.out)
        return sweep_study(sweep, runs)

    return make


_SWEEPS = ("data_dir", "values", "seeds")
STUDIES: dict[str, Entry] = {
    "loss": Entry("training loss by epoch", lambda paths, _: loss_study(_records(paths))),
    "validation-size": Entry("error by size of the meta set (runs the sweep)", _swept(VALIDATION_SIZE), _SWEEPS),
    "intrusion": Entry(
        "distance from blends to real samples of other labels",
        lambda paths, o: intrusion_study(_rebuilt(paths, o), o.samples or SAMPLES),
        ("data_dir", "samples"),
    ),
    "features": Entry(
        "the plane of a 2-unit network (--model cnn2d)",
        lambda paths, o: features_study(_rebuilt(paths, o)),
        ("data_dir",),
    ),
    "lambda-frequency": Entry(
        "how often each λ was used, against its Beta(α, α) (--values α)", _frequency, ("values",)
    ),
    "lambda-by-class": Entry("λ over class pairs at chosen epochs", _by_class, ("epochs",)),
    "sigma": Entry("error by σ_d of metamixup+apl (runs the sweep)", _swept(SIGMA), _SWEEPS),
    "lipschitz": Entry(
        "Proposition 1: gap against bound",
        lambda paths, o: lipschitz_study(_rebuilt(paths, o), o.samples or SEGMENTS),
        ("data_dir", "samples"),
    ),
}


def find_study(name: str, options: Options) -> Entry:
    """The study of that name, if it takes these options."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    study = STUDIES[name]
    for key in [key for key, value in vars(options).items() if key != "out" and value is not None]:
        if key not in study.takes:
            takes = ", ".join(f"--{known.replace('_', '-')}" for known in study.takes) or "no options of its own"
            raise UserError(f"study {name} has no --{key.replace('_', '-')}; it takes {takes}")
    return study
