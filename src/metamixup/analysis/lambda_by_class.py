"""λ by class pair at chosen epochs (Section IV-D): the paper's surfaces, as maps that can be read off."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from metamixup.analysis.class_pairs import Frame, frames, group_names
from metamixup.analysis.records import Records
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import COLUMN, SEQUENTIAL, label, panels, plain, styled
from metamixup.errors import UserError

PAPER = (3, 30, 90, 120)
MOST_FRAMES = 60
_MEASURES = (("mean", "mean λ", "PuOr"), ("mixing", "mixing 1 − |2λ − 1|", SEQUENTIAL))


def lambda_by_class_study(runs: Sequence[Records], epochs: list[int] | None = None) -> Study:
    """Maps at `epochs`; by default the paper's four, or the same shares of a shorter run. Of one run the mean of λ and
    the mixing, of several runs the mixing, one below the other."""
    named = _named(runs)
    found = {name: _frames(run) for name, run in named.items()}
    names, *others = (group_names(run.classes, len(found[name][0].mean)) for name, run in named.items())
    if any(other != names for other in others):
        raise UserError("lambda-by-class sets runs of the same classes beside each other")
    chosen = {name: [_at(own, epoch) for epoch in epochs or _default(own[-1].last)] for name, own in found.items()}
    if len({tuple(frame.last for frame in own) for own in chosen.values()}) > 1:
        raise UserError("these runs differ in length; say which epochs to show (--epochs 3,30)")
    numbers = {"classes": names, "runs": {name: _numbers(own) for name, own in chosen.items()}}
    shared = min(len(own) for own in found.values())  # epochs, so that frames of all runs are of the same ones
    pooled = {name: frames(run.lambdas[:shared], MOST_FRAMES) for name, run in named.items()}
    return Study("lambda-by-class", numbers, _figure(chosen, names), _interactive(pooled, names))


def _named(runs: Sequence[Records]) -> dict[str, Records]:
    names = [run.name for run in runs]
    return dict(zip(names if len(set(names)) == len(names) else [str(run.path) for run in runs], runs, strict=True))


def _frames(run: Records) -> list[Frame]:
    found = frames(run.lambdas)
    if not found or any(frame.mixing is None for frame in found):
        raise UserError(f"{run.path}: no λ by class pair was recorded (lambda.jsonl)")
    return found


def _numbers(chosen: list[Frame]) -> dict[str, Any]:
    return {str(f.last): {key: np.round(getattr(f, key), 4).tolist() for key, *_ in _MEASURES} for f in chosen}


def _default(last: int) -> list[int]:
    return list(PAPER) if last >= PAPER[-1] else sorted({max(1, round(e * last / PAPER[-1])) for e in PAPER})


def _at(found: list[Frame], epoch: int) -> Frame:
    for frame in found:
        if frame.last == epoch:
            return frame
    raise UserError(f"epoch {epoch} was not recorded; this run has {found[0].last} to {found[-1].last}")


def _figure(chosen: dict[str, list[Frame]], names: list[str]) -> Any:
    (first, *_), several = chosen.values(), len(chosen) > 1
    *_, (_, mixing, sequential) = _MEASURES
    rows = [(name, own, "mixing", mixing, sequential) for name, own in chosen.items()]
    rows = rows if several else [("", first, *measure) for measure in _MEASURES]
    with styled():
        sizes = {"width": 2 * COLUMN, "height": 1.75}
        figure, axes = panels(len(first), len(rows), **sizes, squeeze=False, sharex=True, sharey=True)
        for row, (name, own, key, title, colours) in zip(axes, rows, strict=True):
            for axis, frame in zip(row, own, strict=True):
                image = axis.imshow(getattr(frame, key), vmin=0, vmax=1, cmap=colours)
                axis.grid(False)
            row[0].set_ylabel(f"{plain(name)}\nclass of $x_i$" if several else "class of $x_i$")
            figure.colorbar(image, ax=list(row), label=title, shrink=0.9)
        for top, bottom, frame in zip(axes[0], axes[-1], first, strict=True):
            label(top, f"epoch {frame.last}", "", top.get_ylabel())
            bottom.set_xlabel("class of $x_j$")
        if len(names) <= 10 and max(map(len, names)) <= 3:
            axes[0, 0].set_xticks(range(len(names)), names)
            axes[0, 0].set_yticks(range(len(names)), names)
    return figure


def _interactive(found: dict[str, list[Frame]], names: list[str]) -> Any:
    """A surface as in the paper for each run, side by side, with a slider over the epochs."""
    figure = interactive("Mixing by class pair", height=720)
    specs = [[{"type": "surface"}] * len(found)]
    figure.set_subplots(rows=1, cols=len(found), specs=specs, subplot_titles=[html.escape(name) for name in found])
    moments = list(zip(*found.values(), strict=False))  # of the same epochs each, but for damaged lines
    steps = [f"{f.first}" if f.first == f.last else f"{f.first}–{f.last}" for f, *_ in moments]

    def surfaces(moment: Sequence[Frame]) -> list[go.Surface]:
        look = {"x": names, "y": names, "colorscale": "Cividis", "cmin": 0, "cmax": 1}
        return [go.Surface(z=frame.mixing, showscale=k == 0, **look) for k, frame in enumerate(moment)]

    for column, surface in enumerate(surfaces(moments[-1]), 1):
        figure.add_trace(surface, row=1, col=column)
    figure.frames = [go.Frame(data=surfaces(moment), name=s) for moment, s in zip(moments, steps, strict=True)]
    moves = [
        {"label": s, "method": "animate", "args": [[s], {"mode": "immediate", "frame": {"duration": 0}}]} for s in steps
    ]
    slider = {"active": len(moves) - 1, "currentvalue": {"prefix": "epoch "}, "steps": moves}
    axis = {"type": "category"}
    figure.update_layout(sliders=[slider])
    figure.update_scenes(
        xaxis={"title": "class of x_j", **axis},
        yaxis={"title": "class of x_i", **axis},
        zaxis={"title": "mixing", "range": [0, 1]},
    )
    return figure
