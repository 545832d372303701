"""What the comparison was to show, and whether it does. What falls short is told as plainly as what holds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from metamixup.tables.entry import FEWEST_SEEDS
from tools.comparison.rivals import CLAIMED, TUNED, against, all_of, is_below, row, surely_below
from tools.comparison.tasks import OURS, Task

FAR_END = 0.3  # points that the default may be worse than a tuned MixUp on clean data
COST = 1.25
MET, NOT_MET = "met", "not met"


@dataclass(frozen=True)
class Claim:
    """`asked` and `found` in words; `verdict` is met, not met, or what it waits for."""

    text: str
    asked: str
    found: str
    verdict: str


def claims(tasks: Sequence[Task]) -> list[Claim]:
    """A verdict that rests on fewer seeds than are planned holds `so far`."""
    judged = _judged([task for task in tasks if task.claimed])
    few = any(count < task.seeds for task in tasks for count in shared_seeds([task]))
    decided = (MET, NOT_MET)
    return [replace(c, verdict=f"{c.verdict} so far") if few and c.verdict in decided else c for c in judged]


def shared_seeds(tasks: Sequence[Task]) -> set[int]:
    """How many seeds the differences rest on that claims are about."""
    found = [against(task, rival) for task in tasks if task.claimed for rival in CLAIMED]
    return {difference.seeds for difference in found if difference is not None}


def _judged(tasks: Sequence[Task]) -> list[Claim]:
    imperfect = [task for task in tasks if task.imperfect]
    clean = [task for task in tasks if not task.imperfect]
    return [
        _counted(
            "Imperfect labels: mean test error below the baseline's, the best-α MixUp's and both controls'",
            [all_of([is_below(against(task, rival)) for rival in CLAIMED]) for task in imperfect],
            6 / 8,
        ),
        _counted(
            "Imperfect labels: the 95 % interval of each of these four differences lies below zero",
            [all_of([surely_below(against(task, rival)) for rival in CLAIMED]) for task in imperfect],
            4 / 8,
        ),
        _counted("Clean labels: below the baseline", [is_below(against(t, "baseline")) for t in clean], 3 / 4),
        never_far_worse(clean),
        _counted("Clean labels: below the best-α MixUp somewhere", [is_below(against(t, TUNED)) for t in clean], 1e-9),
        cheap(tasks),
        _counted("NLL no worse than the best-α MixUp's", [_no_worse(t, "test_nll") for t in tasks], 2 / 3),
        _counted("ECE no worse than the best-α MixUp's", [_no_worse(t, "test_ece") for t in tasks], 2 / 3),
    ]


def _counted(text: str, answers: list[bool | None], share: float) -> Claim:
    """A claim about at least a share of the tasks. It is decided once the missing tasks can change nothing."""
    count, open_tasks, need = answers.count(True), answers.count(None), math.ceil(share * len(answers))
    verdict = MET if count >= need else NOT_MET
    if count < need <= count + open_tasks:
        verdict = _waiting(open_tasks)
    measured = len(answers) - open_tasks
    return Claim(text, f"≥ {need} of {len(answers)} tasks", f"{count} of {measured} measured", verdict)


def _waiting(tasks: int) -> str:
    return f"open: {tasks} {'task' if tasks == 1 else 'tasks'} to be measured"


def never_far_worse(clean: Sequence[Task]) -> Claim:
    found = [(against(task, TUNED), task.title) for task in clean]
    ends = [(f.mean if f.high is None else f.high, title) for f, title in found if f and f.seeds >= FEWEST_SEEDS]
    text = "Clean labels: nowhere worse than the best-α MixUp (the far end of the interval)"
    asked = f"≤ {FAR_END:+.1f} points on all {len(clean)} tasks"
    if not ends:
        return Claim(text, asked, "nothing measured", _waiting(len(clean)))
    within, (worst, where) = sum(end <= FAR_END for end, _ in ends), max(ends)
    missing = len(clean) - len(ends)
    verdict = NOT_MET if within < len(ends) else _waiting(missing) if missing else MET
    return Claim(text, asked, f"{within} of {len(ends)} measured; at most {worst:+.2f} ({where})", verdict)


def cost_ratio(task: Task) -> float | None:
    """One run of the default by one of the tuned MixUp."""
    theirs = row(task, TUNED)
    return task.cost_ratio(OURS, theirs) if theirs else None


def cheap(tasks: Sequence[Task]) -> Claim:
    text, asked = "One run costs as much as this many runs of MixUp (CPU time, mean over the tasks)", f"≤ {COST}"
    ratios = [(ratio, task.title) for task in tasks if (ratio := cost_ratio(task)) is not None]
    if not ratios:
        return Claim(text, asked, "nothing measured", _waiting(len(tasks)))
    mean, (worst, where) = fmean(ratio for ratio, _ in ratios), max(ratios)
    found, missing = f"{mean:.2f} over {len(ratios)} tasks; at most {worst:.2f} ({where})", len(tasks) - len(ratios)
    verdict = NOT_MET if mean > COST else _waiting(missing) if missing else MET
    return Claim(text, asked, found, verdict)


def _no_worse(task: Task, key: str) -> bool | None:
    found = against(task, TUNED, key)
    return None if found is None else found.mean <= 0
