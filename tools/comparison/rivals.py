"""Whom the default is compared with on a task, and how the comparison came out."""

from collections.abc import Sequence
from dataclasses import dataclass

from metamixup.tables.entry import FEWEST_SEEDS, Difference
from tools.comparison.tasks import BASELINE, OURS, Task
from tools.comparison.tuned import FAMILIES, Tuned, by_alpha, tuned

TUNED, SCHEDULE = "best-α MixUp", "mixup+settle"
SCHEDULES = (SCHEDULE, "cutmix+settle")  # the default's schedule alone, with blends of either kind
TUNED_FAMILIES = {f"best-α {name}": family for name, family in FAMILIES.items()}
# Names for people, and the rows they are; a tuned one is another row on each task.
RIVALS = {
    "baseline": BASELINE,
    **dict.fromkeys(TUNED_FAMILIES),
    "control: reverse": f"{OURS}:reverse",
    "control: shuffle": f"{OURS}:shuffle",
    "learning to reweight": "reweight",
}
CLAIMED = ("baseline", TUNED, "control: reverse", "control: shuffle")  # reweighting is reported, whatever it shows


def tuning(task: Task, rival: str) -> Tuned | None:
    """How the rival's α was chosen on the task; None where it has none, or none of them has been run."""
    return tuned(task, TUNED_FAMILIES[rival]) if rival in TUNED_FAMILIES else None


def row(task: Task, rival: str) -> str | None:
    """The method that is this rival on the task; None where no α of it has been run."""
    found = tuning(task, rival)
    return found.method if found else RIVALS[rival]


def against(task: Task, rival: str, key: str = "test_error", seeds: Sequence[int] | None = None) -> Difference | None:
    """Over these seeds, or all that both have; None as long as there is none."""
    method = row(task, rival)
    return None if method is None else task.difference(OURS, method, key, seeds)


@dataclass(frozen=True)
class Other:
    """A method that is not ours, and ours minus it."""

    method: str
    difference: Difference


def others(task: Task) -> list[Other]:
    """Those beside RIVALS that were run often enough, and are no controls: one for a kind of labels alone, too."""
    families = {method for family in FAMILIES.values() for method in by_alpha(task, family)}
    named = {OURS, *RIVALS.values(), *families, *task.controls}
    methods = [method for method in task.labels if method not in named and not method.startswith(OURS)]
    found = [Other(method, d) for method in methods if (d := task.difference(OURS, method)) is not None]
    return [other for other in found if other.difference.seeds >= FEWEST_SEEDS]


def lowest_other(task: Task) -> Other | None:
    """Of all but the baseline, MixUp and its schedule the one that ours is least ahead of, by test error and so in
    hindsight. A tuned family has its chosen α."""
    rivals = [(row(task, rival), against(task, rival)) for rival in RIVALS if rival != TUNED]
    named = [Other(method, d) for method, d in rivals if method and d and d.seeds >= FEWEST_SEEDS]
    known = {BASELINE, SCHEDULE, *task.controls}
    return max(
        [o for o in (*others(task), *named) if o.method not in known],
        key=lambda other: other.difference.mean,
        default=None,
    )


def is_learned(task: Task) -> bool:
    """Is the default surely below its schedule alone, with blends of either kind?"""
    planned = [task.difference(OURS, method) for method in SCHEDULES if method in task.labels]
    return bool(planned) and all(surely_below(found) is True for found in planned)


def is_below(found: Difference | None) -> bool | None:
    return None if found is None else found.mean < 0


def surely_below(found: Difference | None) -> bool | None:
    """Does the interval lie below zero? None while there are too few seeds for one."""
    return None if found is None or found.seeds < FEWEST_SEEDS else found.below


def all_of(answers: list[bool | None]) -> bool | None:
    """False as soon as one is; None while one is open."""
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True
