"""Did the default find how much to mix? Its share of blended pairs beside five fixed ones with the same schedule."""

from collections.abc import Sequence
from statistics import fmean

from metamixup.tables.text_table import Field, TextTable, as_markdown, bold
from tools.comparison.tasks import BASELINE, OURS, Task

FIXED = {BASELINE: 0.0, "mixup+settle-25": 0.25, "mixup+settle-50": 0.5, "mixup+settle-75": 0.75, "mixup+settle": 1.0}


def amount(tasks: Sequence[Task]) -> str:
    """Test errors over the seeds that all of them have; the best fixed share, chosen in hindsight, in bold."""
    head = (
        "test error, %",
        *(f"{share:.0%}" for share in FIXED.values()),
        "TrustMix",
        "to the best",
        "blended",
        "seeds",
    )
    rows = [_row(task) for task in tasks if not task.imperfect and best_fixed(task) is not None]
    return as_markdown(TextTable(head, rows, 1)) if rows else "Nothing has been run yet.\n"


def best_fixed(task: Task) -> float | None:
    """The fixed share with the lowest error; None unless all of them and the default have been run."""
    means = _measured(task)
    return FIXED[min(FIXED, key=means.__getitem__)] if len(means) == len(FIXED) + 1 else None


def _measured(task: Task) -> dict[str, float]:
    """The mean error of each fixed share and of the default, where there is one."""
    seeds = task.shared([*FIXED, OURS])
    means = {method: task.mean(method, seeds=seeds) for method in (*FIXED, OURS)}
    return {method: mean for method, mean in means.items() if mean is not None}


def _row(task: Task) -> list[Field]:
    means = _measured(task)
    best = min(means[method] for method in FIXED)
    fixed: list[Field] = [bold(f"{means[m]:.2f}") if means[m] == best else f"{means[m]:.2f}" for m in FIXED]
    told = (f"{means[OURS]:.2f}", f"{means[OURS] - best:+.2f}", _blended(task), str(len(task.shared([*FIXED, OURS]))))
    return [task.title, *fixed, *told]


def _blended(task: Task) -> str:
    """The share that the default blended in the mean over the run."""
    shares = task.curve(OURS, "blended").values()
    return f"{fmean(shares):.0%}" if shares else "–"
