"""What wrong labels cost: rivals, the default with and without a clean set, and the bounds of those who know."""

from collections.abc import Sequence
from statistics import fmean

from metamixup.tables.entry import FEWEST_SEEDS
from metamixup.tables.table_files import difference_text
from metamixup.tables.text_table import Field, TextTable, as_markdown, bold
from tools.comparison.tasks import BASELINE, OURS, Task
from tools.comparison.tuned import tuned

ALONE, LEFT_OUT, RIGHT = "trustmix-alone", "mixup-left-out", "mixup-right"
RIVALS = ("elr", "elr+mixup", "gce+mixup", "bootstrapping", "meta-weight-net")
TUNED = "best-α MixUp"


def wrong_labels(tasks: Sequence[Task]) -> str:
    """Test errors, and how much of the distance from the best-α MixUp to all labels right is closed."""
    run = [task for task in tasks if _means(task).keys() >= {TUNED, OURS, RIGHT}]
    if not run:
        return "Nothing has been run yet.\n"
    shown = [m for m in (BASELINE, TUNED, *RIVALS, ALONE, OURS, LEFT_OUT, RIGHT) if any(m in _means(t) for t in run)]
    head = ("test error, %", *(TUNED if m == TUNED else run[0].labels[m] for m in shown), "closed", "without", "seeds")
    rows = [_row(task, shown) for task in run]
    closed = [_closed(task, method) for method in (OURS, ALONE) for task in run]
    told = [share for share in closed[: len(run)] if share is not None]
    alone = [share for share in closed[len(run) :] if share is not None]
    said = f"Closed in the mean: {fmean(told):.0%}" + (f", without a clean set {fmean(alone):.0%}" if alone else "")
    return as_markdown(TextTable(head, rows, 1)) + f"\n{said}.\n"


def rival_differences(tasks: Sequence[Task]) -> str:
    """The default minus each rival, paired by seed, with what a run costs beside one of MixUp."""
    run = [task for task in tasks if any(task.difference(OURS, rival) for rival in RIVALS)]
    if not run:
        return "Nothing has been run yet.\n"
    rivals = [rival for rival in RIVALS if any(task.difference(OURS, rival) for task in run)]
    rows: list[list[Field]] = []
    for task in run:
        found = [task.difference(OURS, rival) for rival in rivals]
        texts = ["missing" if f is None else difference_text(f) for f in found]
        sure = [f is not None and f.sure and f.seeds >= FEWEST_SEEDS for f in found]
        rows.append([task.title, *(bold(t) if s else t for t, s in zip(texts, sure, strict=True))])
    costs = [["CPU time, MixUp's being 1", *(_cost(run, rival) for rival in rivals)]]
    costs += [["… of TrustMix", *(_cost(run, OURS) for _ in rivals)]]
    return as_markdown(TextTable(("TrustMix minus …, points", *(run[0].labels[r] for r in rivals)), [*rows, *costs], 1))


def _means(task: Task) -> dict[str, float]:
    """By method, over the seeds that all of them have; the tuned MixUp is another row on each task."""
    best = tuned(task)
    rows = {m: m for m in (BASELINE, *RIVALS, ALONE, OURS, LEFT_OUT, RIGHT)} | ({TUNED: best.method} if best else {})
    seeds = task.shared(list(rows.values()))
    means = {name: task.mean(row, seeds=seeds) for name, row in rows.items()}
    return {name: mean for name, mean in means.items() if mean is not None}


def _closed(task: Task, method: str) -> float | None:
    means = _means(task)
    return (means[TUNED] - means[method]) / (means[TUNED] - means[RIGHT]) if method in means else None


def _row(task: Task, shown: Sequence[str]) -> list[Field]:
    means, shares = _means(task), (_closed(task, OURS), _closed(task, ALONE))
    best = tuned(task)
    seeds = task.shared([*(m for m in shown if m != TUNED), best.method if best else None])
    fields: list[Field] = [f"{means[method]:.2f}" if method in means else "missing" for method in shown]
    return [task.title, *fields, *("–" if s is None else f"{s:.0%}" for s in shares), str(len(seeds))]


def _cost(tasks: Sequence[Task], method: str) -> str:
    """The mean over the tasks that have it."""
    ratios = [ratio for task in tasks if (best := tuned(task)) and (ratio := task.cost_ratio(method, best.method))]
    return f"{fmean(ratios):.2f}" if ratios else "–"
