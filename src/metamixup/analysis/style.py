"""How every figure looks: a palette that colour-blind readers can tell apart, sizes readable at column width."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, yellow left out (too pale on white) and black kept for reference lines.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
# With more classes than colours the marker tells them apart.
MARKERS = ["o", "^", "s", "D", "v", "P", "X"]
SEQUENTIAL = "cividis"
REFERENCE = "#555555"
COLUMN = 3.5  # inches, a column of the paper

_RC: Any = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "svg.hashsalt": "metamixup",  # the same numbers give the same file
    "savefig.dpi": 200,
}


@contextmanager
def styled() -> Iterator[None]:
    with mpl.rc_context(_RC):
        yield


def panels(columns: int = 1, rows: int = 1, width: float = COLUMN, height: float = 2.4, **options: Any) -> Any:
    """(figure, axes): no pyplot, so no window system and no global state."""
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def label(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def plain(text: str) -> str:
    """A name as matplotlib shows it: a dollar sign starts no formula."""
    return text.replace("$", r"\$")


def colours() -> Iterator[str]:
    return cycle(COLOURS)
