"""The tables of the audit beside cleanlab, from the lines of `benchmarks/audit.py`: a row a task, means over seeds."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from metamixup.tables.entry import paired
from metamixup.tables.records import read_records
from metamixup.tables.table_files import MISSING, difference_text
from metamixup.tables.text_table import TextTable, as_markdown

Records = Sequence[dict[str, Any]]


def audit_table(records: Path) -> str:
    """How well wrong labels are ranked first, by both."""
    head = ("wrong labels in", "samples", "average precision", "cleanlab", "difference (95 %)", "judged in-sample")
    more = ("AUROC", "cleanlab", "of the first 100", "cleanlab", "seeds")
    ranked = {name: own for name, own in _by_task(records).items() if "ap" in own[0]["ours"]}
    return as_markdown(TextTable((*head, *more), [_ranking(name, own) for name, own in ranked.items()]))


def share_table(records: Path) -> str:
    """How many labels each takes for wrong."""
    head = ("wrong labels in", "true share", "found", "95 % interval", "called wrong", "cleanlab finds", "seeds")
    return as_markdown(TextTable(head, [_shares(name, own) for name, own in _by_task(records).items()]))


def tenths_table(records: Path) -> str:
    """Shares of wrong labels by how sure the network is, where people gave the labels."""
    tenths = next(r["tenths"] for r in read_records(records) if r["task"].startswith("cifar10n-random1"))
    names = {"wrong": "wrong labels", "found": "found", "recognised": "recognised images"}
    head = ("of each tenth, the surest first", *(str(k) for k in range(1, 11)))
    return as_markdown(TextTable(head, [[told, *(f"{v:.0%}" for v in tenths[name])] for name, told in names.items()]))


def cost_table(records: Path) -> str:
    """CPU seconds: of the same networks, and of what each does with their answers."""
    head = ("CPU seconds", "networks", "labels", "cleanlab", "difference", "Datalab")
    rows = [_costs(name, own) for name, own in _by_task(records).items()]
    return as_markdown(TextTable((*head, "all three kinds", "Datalab", "seeds"), rows))


def _by_task(records: Path) -> dict[str, list[dict[str, Any]]]:
    tasks: dict[str, list[dict[str, Any]]] = {}
    for record in read_records(records):
        tasks.setdefault(record["task"], []).append(record)
    return tasks


def _ranking(name: str, own: Records) -> list[str]:
    apart = difference_text(paired([r["ours"]["ap"] - r["cleanlab"]["ap"] for r in own]), 3)
    precision, area, first = (
        [_mean(own, who, key, form) for who in ("ours", "cleanlab")]
        for key, form in (("ap", ".3f"), ("auroc", ".3f"), ("first", ".0%"))
    )
    alone = _mean(own, "in_sample", "ap", ".3f")
    return [name, f"{own[0]['samples']:,}", *precision, apart, alone, *area, *first, str(len(own))]


def _shares(name: str, own: Records) -> list[str]:
    low, high = (fmean(r["interval"][side] for r in own) for side in (0, 1))
    return [
        *(name, f"{fmean(r['true_share'] for r in own):.1%}", _mean(own, "ours", "share", ".1%")),
        *(f"{low:.1%} to {high:.1%}", f"{fmean(r['called'] for r in own):.1%}", _mean(own, "cleanlab", "share", ".1%")),
        str(len(own)),
    ]


def _costs(name: str, own: Records) -> list[str]:
    networks, ours, theirs = (
        fmean(record["cpu_seconds"][part] for record in own) for part in ("networks", "ours", "cleanlab")
    )
    return [
        *(name, f"{networks:.2f}", f"{ours:.3f}", f"{theirs:.3f}"),
        f"{(networks + ours) / (networks + theirs) - 1:+.2%}",
        *(_mean(own, "cpu_seconds", part, ".3f") for part in ("datalab", "ours_all", "datalab_all")),
        str(len(own)),
    ]


def _mean(own: Records, who: str, key: str, form: str) -> str:
    values = [record[who][key] for record in own if key in record[who]]
    return format(fmean(values), form) if values else MISSING
