"""The parts that a page of a comparison is made of, by the name that a document asks for them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metamixup.errors import unknown
from tools.comparison.amount import amount
from tools.comparison.gauntlet import gauntlet, summary
from tools.comparison.provenance import provenance
from tools.comparison.tables import TABLES
from tools.comparison.tasks import OURS, read_tasks
from tools.comparison.wrong_labels import rival_differences, wrong_labels

ALL_TABLES = {
    **TABLES,
    "gauntlet": gauntlet,
    "gauntlet-summary": summary,
    "amount": amount,
    "provenance": provenance,
    "wrong-labels": wrong_labels,
    "wrong-labels-rivals": rival_differences,
}
# What is to be seen on each, for readers who cannot.
FIGURES = {
    "figure-differences": "Paired differences of the test error with their 95 % intervals, by rival and task",
    "figure-detection": "How well wrong labels were told from right ones over the epochs, by task",
    "figure-classes": "How much pairs of the same class and of two classes were mixed over the epochs, by task",
    "figure-amount": "The share of blended pairs over the epochs, by task",
    "figure-pairs": "How much each pair of classes was mixed over the run, by task",
}
# What records must tell for a figure to have anything in it.
DRAWN_FROM = {
    "figure-detection": "trust_auroc",
    "figure-classes": "mixing_other",
    "figure-amount": "blended",
}


@dataclass(frozen=True)
class Part:
    """Markdown, and for a figure its file and how to draw it."""

    text: str
    file: str = ""
    drawing: Callable[[], str] = str


def make_part(records: Path, name: str) -> Part:
    if name in ALL_TABLES:
        return Part(ALL_TABLES[name](read_tasks(records)))
    if name not in FIGURES:
        raise unknown("part of a comparison", name, (*ALL_TABLES, *FIGURES))
    if name in DRAWN_FROM and not any(task.curve(OURS, DRAWN_FROM[name]) for task in read_tasks(records)):
        return Part("Nothing of it has been recorded yet.\n")
    file = f"{records.stem}-{name.removeprefix('figure-')}.svg"
    # The records' mark makes the document's text differ whenever its figures are behind.
    mark = hashlib.blake2b(records.read_bytes(), digest_size=4).hexdigest()
    return Part(
        f"![{FIGURES[name]}]({file})\n<!-- drawn from records {mark} -->\n", file, lambda: _drawn(records, name)
    )


def _drawn(records: Path, name: str) -> str:
    from tools.comparison import figures

    return figures.as_svg(figures.FIGURES[name], read_tasks(records))
