"""The figures of a comparison: paired differences, what right and wrong labels weighed and how well they were told
apart, how much and which pairs were mixed."""

import io
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from metamixup.analysis.style import COLOURS, REFERENCE, SEQUENTIAL, label, panels, styled
from tools.comparison.amount import best_fixed
from tools.comparison.rivals import RIVALS, against
from tools.comparison.tasks import OURS, Task

WIDTH, WIDE = 7.2, 9.6  # inches


def differences(tasks: Sequence[Task]) -> Figure:
    """TrustMix minus each rival with its interval; left of the line is better."""
    rivals = [rival for rival in RIVALS if any(against(task, rival) for task in tasks)]
    figure, axes = _grid(len(rivals), max(len(rivals), 1), 0.6 + 0.25 * len(tasks), WIDE)
    for k, (axis, rival) in enumerate(zip(axes, rivals, strict=True)):
        for place, task in enumerate(tasks):
            found = against(task, rival)
            if found is None:
                continue
            low, high = (found.mean if end is None else end for end in (found.low, found.high))
            ends = [[found.mean - low], [high - found.mean]]
            colour = COLOURS[0] if found.mean < 0 else COLOURS[1]
            axis.errorbar([found.mean], [place], xerr=ends, fmt="o", ms=3, lw=1.2, color=colour)
        axis.axvline(0, color=REFERENCE, lw=0.8)
        label(axis, "\n".join(["minus", *textwrap.wrap(rival, 16)]), "points", "")
        axis.set_yticks(range(len(tasks)), [task.title for task in tasks] if k == 0 else [""] * len(tasks))
        axis.set_ylim(len(tasks) - 0.5, -0.5)
    return figure


def detection(tasks: Sequence[Task]) -> Figure:
    """How well trust told wrong labels from right ones, and how much of it each had, epoch by epoch."""
    chosen = [task for task in tasks if task.curve(OURS, "trust_auroc")]
    figure, axes = _grid(len(chosen), 3, 1.9)
    for axis, task in zip(axes, chosen, strict=True):
        for key, style, colour, name in (
            ("trust_auroc", "-", COLOURS[2], "AUROC of distrust"),
            ("trust_right", ":", COLOURS[0], "trust in right labels"),
            ("trust_wrong", ":", COLOURS[1], "trust in wrong labels"),
        ):
            told = task.curve(OURS, key)
            axis.plot(list(told), list(told.values()), style, color=colour, label=name)
        label(axis, in_lines(task.title), "epoch", "")
        axis.set_ylim(-0.03, 1.03)
    if chosen:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def classes(tasks: Sequence[Task]) -> Figure:
    """How much pairs of the same class and of two classes were mixed, epoch by epoch: 1 − |2λ − 1|."""
    chosen = [task for task in tasks if task.curve(OURS, "mixing_other")]
    figure, axes = _grid(len(chosen), 4, 1.8)
    for axis, task in zip(axes, chosen, strict=True):
        for key, colour, name in (
            ("mixing_same", COLOURS[2], "same class"),
            ("mixing_other", COLOURS[3], "two classes"),
        ):
            told = task.curve(OURS, key)
            axis.plot(list(told), list(told.values()), color=colour, label=name)
        label(axis, in_lines(task.title), "epoch", "mixing")
        axis.set_ylim(0, 1)
    if chosen:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def amount(tasks: Sequence[Task]) -> Figure:
    """The share of pairs that the default blended, and the fixed share that was best in hindsight."""
    chosen = [task for task in tasks if task.curve(OURS, "blended") and not task.imperfect]
    figure, axes = _grid(len(chosen), 3, 1.9)
    for axis, task in zip(axes, chosen, strict=True):
        told = task.curve(OURS, "blended")
        axis.plot(list(told), list(told.values()), color=COLOURS[0], label="learned")
        best = best_fixed(task)
        if best is not None:
            axis.axhline(best, color=REFERENCE, ls=":", label="best fixed one, before it settles")
        label(axis, in_lines(task.title), "epoch", "share of pairs")
        axis.set_ylim(-0.03, 1.03)
    if chosen:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def pairs(tasks: Sequence[Task]) -> Figure:
    """Mixing by class pair over the run, mean over seeds: the first image's class down, the second's across."""
    tables = [(task.title, table) for task in tasks if (table := _pair_table(task)) is not None]
    low, high = np.nanquantile([v for _, table in tables for v in np.ravel(table)], [0, 1]) if tables else (0, 1)
    figure, axes = _grid(len(tables), 4, 2.1, WIDTH)
    for axis, (name, table) in zip(axes, tables, strict=True):
        image = axis.imshow(table, cmap=SEQUENTIAL, vmin=low, vmax=high)
        axis.grid(False)
        label(axis, in_lines(name), "", "")
        axis.set_xticks([])
        axis.set_yticks([])
    if tables:
        figure.colorbar(
            image, ax=list(axes), label="mixing; rows: class of the first, columns: of the second", shrink=0.8
        )
    return figure


def _grid(count: int, columns: int, height: float = 1.7, width: float = WIDTH) -> Any:
    """A figure of `count` panels in rows; those that are left over are taken away."""
    rows = max(1, -(-count // columns))
    figure, axes = panels(columns, rows, width, height, squeeze=False)
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, list(axes.flat[:count])


def in_lines(title: str) -> str:
    """The data, and below it what was done to them: panels are narrow."""
    data, _, rest = title.partition(", ")
    return "\n".join([data, *textwrap.wrap(rest, 24)])


def _pair_table(task: Task) -> np.ndarray | None:
    tables = [r["mixing_pairs"] for r in task.found.get(OURS, {}).values() if r.get("mixing_pairs")]
    if not tables or len({len(table) for table in tables}) > 1:
        return None
    values = np.array(tables, dtype=float)
    seen = ~np.isnan(values)
    return np.where(seen.any(0), np.nansum(values, axis=0) / np.maximum(seen.sum(0), 1), np.nan)


FIGURES: dict[str, Callable[[Sequence[Task]], Figure]] = {
    f"figure-{draw.__name__}": draw for draw in (differences, detection, classes, amount, pairs)
}


def as_svg(draw: Callable[[Sequence[Task]], Figure], tasks: Sequence[Task]) -> str:
    """Text stays text, and no date is in it: the same records give the same file."""
    out = io.StringIO()
    with styled(), mpl.rc_context({"svg.fonttype": "none"}):
        draw(tasks).savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
