"""What people see of a run: progress while it trains, a table and how much was mixed at the end."""

import json
import shlex
import sys
from collections.abc import Iterable
from typing import Any

from metamixup.cli.extras import needing
from metamixup.cli.output import printable
from metamixup.cli.sparkline import sparkline
from metamixup.engine.records.progress import Bars, Listener, PlainLines
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.records.summary_check import is_number, worth_telling
from metamixup.storage import read_record

WIDTH = 40
SCORES = {
    **{"test_error": "test error", "test_error_top5": "top-5", "test_nll": "NLL", "test_ece": "ECE"},
    "meta_error": "meta error",
}


def listeners(folder: RunFolder, tensorboard: bool = False) -> list[Listener]:
    shown: Listener = Bars() if sys.stdout.isatty() else PlainLines()
    if not tensorboard:
        return [shown]
    with needing("report"):
        from metamixup.report.tensorboard import TensorBoard
    return [shown, TensorBoard(folder.root / "tensorboard")]


def show_summary(summary: dict[str, Any], folder: RunFolder) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    about = {key: summary.get(key, "?") for key in ("method", "data", "model")}
    table = Table(title=Text(printable("{method} on {data} ({model})".format(**about))), title_justify="left")
    telling = worth_telling(SCORES, len(summary.get("classes", [])))
    shown = {key: name for key, name in telling.items() if summary.get(key) is not None}
    for name in ("", *shown.values()):
        table.add_column(name, justify="right" if name else "left")
    table.add_row("last epoch", *_row(summary, shown))
    best = summary.get("best_by_meta")
    if best:
        table.add_row(f"best by meta set (epoch {best['epoch']})", *_row(best, shown))
    console = Console(highlight=False)
    console.print(table)
    if summary.get("test_error_views") is not None:
        console.print(f"test error over several views of each image: {summary['test_error_views']:.2f} %")
    for line in mixing(summary):
        console.print(line, markup=False)
    for text in summary.get("remarks", []):
        console.print(f"note: {text}", markup=False, soft_wrap=True)
    for text in suspected(folder):
        console.print(text, markup=False, soft_wrap=True)
    spent = {key: summary.get(key, 0.0) for key in ("train_seconds", "loader_share", "meta_share")}
    seconds = f"{spent['train_seconds']:.1f} s of training"
    shares = f"loader {100 * spent['loader_share']:.1f} %, meta stage {100 * spent['meta_share']:.1f} %"
    console.print(f"{seconds} ({shares}); run folder {folder.root}", markup=False, soft_wrap=True)
    root = shlex.quote(str(folder.root))
    going_on = f"metamixup predict {root} IMAGE (a class), metamixup report {root} (its page)"
    console.print(f"next: {going_on}", markup=False, soft_wrap=True)


def suspected(folder: RunFolder) -> list[str]:
    """How many labels look wrong to the policy, and where to see them; nothing where it judges no labels. That it
    distrusted none is one of the run's remarks."""
    try:
        share = json.loads(read_record(folder.gallery))["suspects"]["share"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    if not is_number(share) or not share:
        return []
    return [f"about {100 * share:.0f} % of the labels look wrong: metamixup audit {shlex.quote(str(folder.root))}"]


def _row(values: dict[str, Any], shown: Iterable[str]) -> list[str]:
    return [_format(values.get(key), "{:.4f}" if key == "test_nll" else "{:.2f} %") for key in shown]


def _format(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def mixing(summary: dict[str, Any]) -> list[str]:
    """The share of blended pairs over the run where it was learned, else λ's distribution."""
    shares = [share for share in summary.get("blended") or [] if share is not None]
    if not shares:
        return histogram(summary.get("lambda_histogram", []))
    curve = sparkline(shares, WIDTH, between=(0, 1))
    return [f"pairs blended, by epoch: {curve} most {max(shares):.2f}, last {shares[-1]:.2f}"]


def histogram(counts: list[int]) -> list[str]:
    """λ's distribution in the last epoch, two bins of the record to a line."""
    pairs = [a + b for a, b in zip(counts[::2], counts[1::2], strict=True)]
    total, most = sum(pairs), max(pairs, default=0)
    if not total:
        return []
    bars = [f"{'█' * round(WIDTH * n / most):<{WIDTH}} {100 * n / total:4.1f} %" for n in pairs]
    edges = [k / len(pairs) for k in range(len(pairs) + 1)]
    return ["λ in the last epoch:", *(f"  {edges[k]:.1f}–{edges[k + 1]:.1f} {bar}" for k, bar in enumerate(bars))]
