"""How the default stands on tasks that nobody chose: beside the better of baseline and MixUp, and its rank."""

from collections.abc import Sequence
from statistics import fmean

from metamixup.tables.text_table import Field, TextTable, as_markdown
from tools.comparison.tasks import BASELINE, OURS, Task

PLAIN = (BASELINE, "mixup-0.2", "mixup")  # what a user would do otherwise: the better of them is to be met
METHODS = (*PLAIN, "mixup+settle", OURS)


def gauntlet(tasks: Sequence[Task]) -> str:
    """Test errors over the seeds that the methods of a task share; tasks without the default are left out."""
    run = [task for task in tasks if task.values(OURS) and behind(task) is not None]
    if not run:
        return "Nothing has been run yet.\n"
    shown = [method for method in METHODS if any(task.values(method) for task in run)]
    head = ("test error, %", *(run[0].labels[method] for method in shown), "to the better", "blended", "seeds")
    rows: list[Sequence[Field]] = [[_title(task), *_errors(task, shown), *_behind(task)] for task in run]
    kinds = {"Clean tasks": [t for t in run if not t.imperfect], "Imperfect tasks": [t for t in run if t.imperfect]}
    told = [f"{kind}: {_summary(own, shown)}" for kind, own in kinds.items() if own]
    return as_markdown(TextTable(head, rows, 1)) + "\n" + "\n\n".join(told) + "\n"


def summary(tasks: Sequence[Task]) -> str:
    """A row a method: its mean test error and its mean rank on clean tasks and on imperfect ones. Nothing is bold: two
    seeds a task are too few."""
    head = ("24 tasks", "clean: test error, %", "mean rank", "imperfect: test error, %", "mean rank")
    kinds = [[t for t in tasks if t.imperfect == imperfect and behind(t) is not None] for imperfect in (False, True)]
    if not any(kinds):
        return "Nothing has been run yet.\n"
    rows = [
        [tasks[0].labels[method], *(told for own in kinds for told in _standing(own, method))] for method in METHODS
    ]
    counts = " and ".join(f"{len(own)} {kind}" for own, kind in zip(kinds, ("clean", "imperfect"), strict=True))
    seeds = sorted({len(task.shared(METHODS)) for own in kinds for task in own})
    return as_markdown(TextTable(head, rows, 1)) + f"\nMeans over {counts} tasks, seeds a task: {_range(seeds)}.\n"


def _standing(tasks: Sequence[Task], method: str) -> tuple[str, str]:
    errors = [error for task in tasks if (error := task.mean(method, seeds=task.shared(METHODS))) is not None]
    if not errors or len(errors) < len(tasks):
        return "–", "–"
    placed = [ranks(task, [m for m in METHODS if task.values(m)]) for task in tasks]
    means = {m: fmean(place[m] for place in placed) for m in METHODS if all(m in place for place in placed)}
    return f"{fmean(errors):.2f}", f"{means[method]:.2f}"


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def behind(task: Task) -> float | None:
    """How far the default's mean is above that of the better of baseline and MixUp."""
    seeds = task.shared(METHODS)
    mine, others = task.mean(OURS, seeds=seeds), [task.mean(method, seeds=seeds) for method in PLAIN]
    found = [error for error in others if error is not None]
    return mine - min(found) if mine is not None and found else None


def ranks(task: Task, methods: Sequence[str]) -> dict[str, float]:
    """1 is the lowest error; equal ones share the mean of their ranks."""
    means = {method: task.mean(method, seeds=task.shared(METHODS)) for method in methods}
    errors = {method: mean for method, mean in means.items() if mean is not None}
    return {
        method: 0.5 + sum(other < error for other in errors.values()) + sum(o == error for o in errors.values()) / 2
        for method, error in errors.items()
    }


def _title(task: Task) -> str:
    kind, number, data, images = task.name.split("-")
    return f"{kind} {number}: {data}, {int(images):,}"


def _errors(task: Task, methods: Sequence[str]) -> list[str]:
    means = [task.mean(method, seeds=task.shared(METHODS)) for method in methods]
    return ["–" if mean is None else f"{mean:.2f}" for mean in means]


def _behind(task: Task) -> tuple[str, str, str]:
    found, blended = behind(task), blended_at_most(task)
    return (
        "–" if found is None else f"{found:+.2f}",
        "–" if blended is None else f"{blended:.0%}",
        str(len(task.shared(METHODS))),
    )


def blended_at_most(task: Task) -> float | None:
    """The largest share of pairs that the default blended in the epochs that are recorded, the mean over seeds."""
    curves = [record["blended"] for record in task.found.get(OURS, {}).values() if record.get("blended")]
    return fmean(max(share for _, share in curve) for curve in curves) if curves else None


def _summary(tasks: Sequence[Task], methods: Sequence[str]) -> str:
    found = [distance for task in tasks if (distance := behind(task)) is not None]
    placed = [ranks(task, methods) for task in tasks]
    run = [method for method in methods if any(method in place for place in placed)]
    mean_ranks = {method: fmean(place[method] for place in placed if method in place) for method in run}
    told = ", ".join(f"{tasks[0].labels[method]} {rank:.2f}" for method, rank in mean_ranks.items())
    return (
        f"to the better of baseline and MixUp {fmean(found):+.2f} points in the mean, {max(found):+.2f} at worst; "
        f"behind it on {sum(distance > 0 for distance in found)} of {len(found)} tasks, by more than one point on "
        f"{sum(distance > 1 for distance in found)}. Mean ranks: {told}."
    )
