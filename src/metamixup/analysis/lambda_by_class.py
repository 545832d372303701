"""λ by class pair at chosen epochs (Section IV-D): the paper's surfaces, as maps that can be read off."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from metamixup.analysis.class_pairs import Frame, frames, group_names
from metamixup.analysis.records import Records
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import COLUMN, SEQUENTIAL, label, panels, styled
from metamixup.errors import UserError

PAPER = (3, 30, 90, 120)
MOST_FRAMES = 60
_MEASURES = (("mean", "mean λ", "PuOr"), ("mixing", "mixing 1 − |2λ − 1|", SEQUENTIAL))


def lambda_by_class_study(run: Records, epochs: list[int] | None = None) -> Study:
    """Maps at `epochs`; by default the paper's four, or the same shares of a shorter run."""
    found = frames(run.lambdas)
    if not found or any(frame.mixing is None for frame in found):
        raise UserError(f"{run.path}: no λ by class pair was recorded (lambda.jsonl)")
    names = group_names(run.classes, len(found[0].mean))
    chosen = [_at(found, epoch) for epoch in epochs or _default(found[-1].last)]
    numbers = {
        "run": str(run.path),
        "classes": names,
        "epochs": {str(f.last): {key: np.round(getattr(f, key), 4).tolist() for key, *_ in _MEASURES} for f in chosen},
    }
    return Study(
        "lambda-by-class", numbers, _figure(chosen, names), _interactive(frames(run.lambdas, MOST_FRAMES), names)
    )


def _default(last: int) -> list[int]:
    return list(PAPER) if last >= PAPER[-1] else sorted({max(1, round(e * last / PAPER[-1])) for e in PAPER})


def _at(found: list[Frame], epoch: int) -> Frame:
    for frame in found:
        if frame.last == epoch:
            return frame
    raise UserError(f"epoch {epoch} was not recorded; this run has {found[0].last} to {found[-1].last}")


def _figure(chosen: list[Frame], names: list[str]) -> Any:
    with styled():
        figure, axes = panels(len(chosen), 2, width=2 * COLUMN, height=1.75, squeeze=False, sharex=True, sharey=True)
        for row, (key, title, colours) in zip(axes, _MEASURES, strict=True):
            for axis, frame in zip(row, chosen, strict=True):
                image = axis.imshow(getattr(frame, key), vmin=0, vmax=1, cmap=colours)
                axis.grid(False)
            row[0].set_ylabel("class of $x_i$")
            figure.colorbar(image, ax=list(row), label=title, shrink=0.9)
        for top, bottom, frame in zip(*axes, chosen, strict=True):
            label(top, f"epoch {frame.last}", "", top.get_ylabel())
            bottom.set_xlabel("class of $x_j$")
        if len(names) <= 10 and max(map(len, names)) <= 3:
            axes[0, 0].set_xticks(range(len(names)), names)
            axes[0, 0].set_yticks(range(len(names)), names)
    return figure


def _interactive(found: list[Frame], names: list[str]) -> Any:
    """A surface as in the paper, with a slider over the epochs."""
    figure = interactive("Mixing by class pair", height=720)
    steps = [f"{f.first}" if f.first == f.last else f"{f.first}–{f.last}" for f in found]

    def surface(frame: Frame) -> go.Surface:
        return go.Surface(z=frame.mixing, x=names, y=names, colorscale="Cividis", cmin=0, cmax=1, showscale=True)

    figure.add_trace(surface(found[-1]))
    figure.frames = [go.Frame(data=[surface(f)], name=s) for f, s in zip(found, steps, strict=True)]
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
