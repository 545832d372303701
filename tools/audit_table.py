"""The table of the audit beside cleanlab, from the lines of `benchmarks/audit.py`."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from metamixup.tables.entry import paired
from metamixup.tables.records import read_records
from metamixup.tables.table_files import MISSING, difference_text
from metamixup.tables.text_table import TextTable, as_markdown

HEAD = (
    *("wrong labels in", "samples", "average precision", "cleanlab", "difference (95 %)", "judged in-sample"),
    *("share found", "cleanlab", "true", "seeds"),
)


def audit_table(records: Path) -> str:
    """A row a task, means over the seeds."""
    tasks: dict[str, list[dict[str, Any]]] = {}
    for record in read_records(records):
        tasks.setdefault(record["task"], []).append(record)
    return as_markdown(TextTable(HEAD, [_row(name, own) for name, own in tasks.items()]))


def _row(name: str, own: Sequence[dict[str, Any]]) -> list[str]:
    differences = [r["ours"]["ap"] - r["cleanlab"]["ap"] for r in own if "ap" in r["ours"]]
    precision = [_mean(own, who, "ap", ".3f") for who in ("ours", "cleanlab")]
    shares = [f"{fmean(share):.1%}" for share in ([r[who]["share"] for r in own] for who in ("ours", "cleanlab"))]
    true = f"{fmean(r['true_share'] for r in own):.1%}"
    apart = difference_text(paired(differences), 3)
    return [
        *(name, f"{own[0]['samples']:,}", *precision, apart, _mean(own, "in_sample", "ap", ".3f")),
        *(*shares, true, str(len(own))),
    ]


def _mean(own: Sequence[dict[str, Any]], who: str, key: str, form: str) -> str:
    values = [record[who][key] for record in own if key in record[who]]
    return format(fmean(values), form) if values else MISSING
