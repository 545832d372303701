"""What the runs of a grid came to, a line a finished run: records.jsonl, from which pages of results are made.

Beside the scores a line tells what a learned policy did over the epochs: the share of pairs that were blended, the
weight that wrong labels were given, how well trust told them from right ones, and how much pairs of the same and of
other classes were mixed.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from metamixup.engine.records.lambdas import readable_pairs
from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.engine.records.summary_check import is_number
from metamixup.errors import UserError
from metamixup.settings.resolve import resolve
from metamixup.storage import as_json, read_record, write_atomically
from metamixup.tables.cells import Cell, Run, learns
from metamixup.tables.sentences import learning

Record = dict[str, Any]
SCORES = ("test_error", "selection_error", "selection_nll", "test_nll", "test_ece")
CURVES = ("blended", "trust_auroc", "trust_right", "trust_wrong")  # as metrics.jsonl has them
MOST_EPOCHS = 30  # longer runs are told by so many of their epochs
MOST_CLASSES = 20  # above, a table of class pairs would be larger than all the rest


def run_record(run: Run, summary: Mapping[str, Any]) -> Record:
    cell = run.cell
    return {
        **{"cell": cell.name, "task": cell.column, "method": cell.method, "label": cell.label, "seed": run.seed},
        "learning": learning(cell),
        **{key: summary.get(key) for key in dict.fromkeys((*SCORES, cell.score))},
        **{"epochs": summary.get("epochs"), "updates": summary.get("steps"), "device": summary.get("device")},
        **{key: summary.get(key) for key in ("processor", "version", "train_seconds", "cpu_seconds")},
        **(policy_record(run, summary) if learns(cell.given) else {}),
    }


def policy_record(run: Run, summary: Mapping[str, Any]) -> Record:
    """What the policy did, epoch by epoch; empty where the run's folder does not tell (it may be elsewhere)."""
    folder = RunFolder(run.folder)
    lines = _epochs(folder.metrics)
    told: Record = {key: thinned(curve) for key in CURVES if (curve := _curve(lines, key))}
    if weights := _curve(lines, "wrong_weight"):
        told |= {"wrong_share": wrong_share(run.cell, summary), "wrong_weight": thinned(weights)}
    return told | class_record(_epochs(folder.lambdas), by_pair=not run.cell.control)


def _curve(lines: list[dict[str, Any]], key: str) -> list[tuple[int, float | None]]:
    return [(line["epoch"], line[key]) for line in lines if is_number(line.get(key))]


def _epochs(path: Path) -> list[dict[str, Any]]:
    return [line for line in read_lines(path) if is_number(line.get("epoch"))]


def wrong_share(cell: Cell, summary: Mapping[str, Any]) -> float:
    """The share of training labels that are wrong, their weight if nothing is learned. Meta images are right."""
    images, settings = summary.get("images", {}), resolve(cell.given)
    spared = images["meta"] / images["train"] if settings.meta.in_train and images.get("train") else 0.0
    return round(settings.corrupt.share * (1 - spared), 4)


def class_record(lines: list[dict[str, Any]], by_pair: bool) -> Record:
    """The mixing 1 − |2λ − 1| of pairs of the same and of other classes by epoch, and by class pair over the
    whole run: at its end a policy that settles mixes none."""
    found = [(line["epoch"], readable_pairs(line)) for line in lines]
    tables = [(epoch, table) for epoch, table in found if table is not None and "mixing" in table]
    if not tables:
        return {}
    groups = len(tables[-1][1]["count"])
    tables = [(epoch, table) for epoch, table in tables if len(table["count"]) == groups]
    same = np.eye(groups, dtype=bool)
    told: Record = {
        "mixing_same": thinned([(epoch, weighted(table, same)) for epoch, table in tables]),
        "mixing_other": thinned([(epoch, weighted(table, ~same)) for epoch, table in tables]),
    }
    if by_pair and len(same) <= MOST_CLASSES:
        told["mixing_pairs"] = [[None if np.isnan(v) else round(float(v), 3) for v in row] for row in overall(tables)]
    return told


def overall(tables: list[tuple[int, dict[str, np.ndarray]]]) -> np.ndarray:
    """(C, C) the mean mixing of each class pair over the epochs; nan for a pair that never came up."""
    count = sum(table["count"] for _, table in tables)
    mixing = sum(np.nan_to_num(table["mixing"]) * table["count"] for _, table in tables)
    return np.where(count > 0, mixing / np.maximum(count, 1), np.nan)


def weighted(table: Mapping[str, np.ndarray], chosen: np.ndarray) -> float | None:
    count = table["count"][chosen]
    return float(np.nansum(table["mixing"][chosen] * count) / count.sum()) if count.sum() else None


def thinned(values: list[tuple[int, float | None]]) -> list[list[float | None]]:
    """[epoch, value] of at most 30 epochs, evenly chosen, the first and the last among them."""
    places = np.linspace(0, len(values) - 1, min(MOST_EPOCHS, len(values))).round().astype(int)
    return [[epoch, None if value is None else round(value, 4)] for epoch, value in (values[k] for k in places)]


def write_records(path: Path, records: Iterable[Record], planned: Iterable[tuple[str, int]]) -> None:
    """Lines of runs that are not part of this grid's plan stay: the tasks of a table may be run one by one."""
    planned = set(planned)
    others = [old for old in read_lines(path) if (old.get("cell"), old.get("seed")) not in planned]
    lines = sorted([*others, *records], key=lambda r: (str(r.get("cell")), r.get("seed") or 0))
    write_atomically(path, b"".join(as_json(line) + b"\n" for line in lines))


def read_records(path: Path) -> list[Record]:
    """A file that was made by hand or by a merge is read as strictly as it was written."""
    try:
        lines = read_record(path).splitlines()
        return [_checked(json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path} is no records.jsonl of `metamixup reproduce` ({error})") from error


def _checked(record: Any) -> Record:
    if not isinstance(record, dict) or not isinstance(record["cell"], str) or not isinstance(record["seed"], int):
        raise ValueError("a line without cell and seed")
    return record
