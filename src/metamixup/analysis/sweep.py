"""Runs of a study, trained where they are not there yet: one with a setting varied, and its error by that setting; or a
recipe with several methods."""

import html
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metamixup.analysis.records import Records, read_run
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import REFERENCE, colours, label, panels, plain, styled
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.runs.run import resume
from metamixup.settings.config import read_config
from metamixup.settings.dotted import flat, nested
from metamixup.settings.resolve import resolve
from metamixup.settings.schema import Settings, check


@dataclass(frozen=True)
class Sweep:
    """What is varied (Section IV-D), by which `values`, and how its figure is called. `published` gives the paper's
    numbers for a task, by value."""

    name: str
    key: str
    title: str
    axis: str
    values: tuple[float, ...]
    published: Callable[[Records], dict[float, float]] = lambda run: {}


# The paper's table of σ_d, by data set and number of labels.
DROPS = (0.01, 0.05, 0.1, 0.2)
PUBLISHED_SIGMA = {
    ("cifar10", 4000): dict(zip(DROPS, (11.84, 11.50, 11.22, 11.98), strict=True)),
    ("svhn", 1000): dict(zip(DROPS, (5.94, 5.34, 5.55, 5.67), strict=True)),
}


def published_sigma(run: Records) -> dict[float, float]:
    """Of the paper's own method alone."""
    task = (run.setting("data"), run.setting("ssl.labels"))
    return PUBLISHED_SIGMA.get(task, {}) if run.setting("method") == "metamixup+apl" else {}


# By σ_d the threshold of pseudo-labels falls. The paper's figure of meta sets gives no numbers to set beside it.
SIGMA = Sweep("sigma", "ssl.sigma_drop", "Sensitivity to σ_d", "σ_d", DROPS, published_sigma)
VALIDATION_SIZE = Sweep(
    "validation-size", "meta.per_class", "Size of the meta set", "meta images a class", (10, 20, 50, 100, 200)
)


def sweep_runs(bases: Sequence[Path], key: str, values: Sequence[float], seeds: int, out: Path) -> list[Records]:
    """Every base with every value and seed, in folders below `out`; finished ones are not trained again."""
    made = []
    for base in bases:
        settings = _settings(base)
        for value in values:
            for seed in range(settings.seed, settings.seed + seeds):
                folder = RunFolder(out / "runs" / f"{base.resolve().name}-{key}={value:g}-{seed}")
                _train(folder, _with(settings, {key: value, "seed": seed}))
                made.append(read_run(folder.root))
    return made


def recipe_runs(recipe: str, given: dict[str, Any], methods: Sequence[str], out: Path) -> list[Path]:
    """The folders below `out` of a recipe's run with each of the methods; finished ones are not trained again.

    given: dotted settings, those of the recipe and what is to differ.
    """
    settings = {
        method: resolve({**given, "method": method}) for method in methods
    }  # a wrong name, before hours of training
    folders = {method: RunFolder(out / "runs" / f"{recipe}-{method}") for method in methods}
    for method, folder in folders.items():
        _train(folder, settings[method])
    return [folder.root for folder in folders.values()]


def _settings(base: Path) -> Settings:
    read_run(base)  # no run folder: said so there
    return read_config(RunFolder(base).config)


def _with(settings: Settings, changes: dict[str, Any]) -> Settings:
    values = {k: v for k, v in flat(settings.model_dump()).items() if v is not None}
    return check(nested(values | changes), "sweep")


def _train(folder: RunFolder, settings: Settings) -> None:
    given = {k: v for k, v in flat(settings.model_dump()).items() if v is not None}
    if not folder.finished:
        print(f"training {folder.root.name}", flush=True)
    resume(folder, settings, given)


def sweep_study(sweep: Sweep, runs: Sequence[Records]) -> Study:
    """Test error by the setting, a line for each task; runs that are unfinished are left out and counted."""
    finished = [r for r in runs if isinstance(r.summary.get("test_error"), int | float)]
    lines: dict[str, dict[float, list[float]]] = {}
    published: dict[str, dict[float, float]] = {}
    for record in finished:
        value, task = record.setting(sweep.key), f"{record.setting('data')}, {record.setting('method')}"
        if isinstance(value, int | float):
            lines.setdefault(task, {}).setdefault(value, []).append(record.summary["test_error"])
            published[task] = sweep.published(record)
    if not lines:
        raise UserError(f"none of these runs is finished and has {sweep.key} in its settings")
    numbers = {
        "setting": sweep.key,
        "unfinished": len(runs) - len(finished),
        "tasks": {task: [_point(v, errors) for v, errors in sorted(own.items())] for task, own in lines.items()},
        "published": {task: {f"{v:g}": e for v, e in own.items()} for task, own in published.items() if own},
    }
    return Study(sweep.name, numbers, _figure(sweep, numbers), _interactive(sweep, numbers))


def _point(value: float, errors: list[float]) -> dict[str, Any]:
    spread = statistics.stdev(errors) if len(errors) > 1 else None
    return {"value": value, "error": errors, "mean": statistics.mean(errors), "std": spread}


def _figure(sweep: Sweep, numbers: dict[str, Any]) -> Any:
    with styled():
        figure, axes = panels()
        for (task, points), colour in zip(numbers["tasks"].items(), colours(), strict=False):
            values = [p["value"] for p in points]
            axes.plot(values, [p["mean"] for p in points], "o-", color=colour, label=plain(task))
            for p in points:
                axes.plot([p["value"]] * len(p["error"]), p["error"], ".", color=colour, alpha=0.4, markersize=4)
        for task, own in numbers["published"].items():
            values = [float(v) for v in own]
            axes.plot(
                values, list(own.values()), "D--", color=REFERENCE, markersize=3, label=f"published ({plain(task)})"
            )
        axes.set_xscale("log")
        ticks = sorted({p["value"] for points in numbers["tasks"].values() for p in points})
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        label(axes, sweep.title, sweep.axis, "test error (%)")
        axes.legend()
    return figure


def _interactive(sweep: Sweep, numbers: dict[str, Any]) -> Any:
    figure = interactive(sweep.title, sweep.axis, "test error (%)", xaxis_type="log")
    for (task, points), colour in zip(numbers["tasks"].items(), colours(), strict=False):
        spread = {"type": "data", "array": [p["std"] or 0 for p in points]}
        x, y = [p["value"] for p in points], [p["mean"] for p in points]
        figure.add_scatter(x=x, y=y, error_y=spread, name=html.escape(task), line_color=colour)
    for task, own in numbers["published"].items():
        x = [float(v) for v in own]
        line = {"color": REFERENCE, "dash": "dash"}
        figure.add_scatter(x=x, y=list(own.values()), name=f"published ({html.escape(task)})", line=line)
    return figure
