"""What a reader must know of the records behind a table: how each row finds λ, on which processors it was run and by
which version of the code."""

from collections import Counter
from collections.abc import Sequence

from metamixup.tables.records import Record
from tools.comparison.tasks import Task


def provenance(tasks: Sequence[Task]) -> str:
    by_policy: dict[str, list[str]] = {}
    for method, label in {m: label for task in tasks for m, label in task.labels.items() if task.found[m]}.items():
        policy = next(task.learning[method] for task in tasks if method in task.learning)
        by_policy.setdefault(policy, []).append(label)
    rows = [record for task in tasks for seeds in task.found.values() for record in seeds.values()]
    if not rows:
        return "Nothing has been run yet.\n"
    how = "; ".join(f"*{policy}*: {', '.join(labels)}" for policy, labels in by_policy.items())
    where, version = (_counted(rows, key) for key in ("processor", "version"))
    return (
        f"How λ is found (policy · projection · estimator), {how}.\n\n"
        f"Runs by processor: {where}; by version of the code: {version}. "
        "Figures move between kinds of processor, with the same code and seed.\n"
    )


def _counted(rows: Sequence[Record], key: str) -> str:
    counts = Counter(record.get(key) or "not recorded" for record in rows).most_common()
    return ", ".join(f"{name} {count:,}" for name, count in counts)
