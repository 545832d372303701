"""Entries of a table from whatever holds results: run folders, folders of runs, table.json and records.jsonl."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.settings.dotted import flat
from metamixup.storage import read_record
from metamixup.tables.entry import Entry, paired, split_control
from metamixup.tables.records import read_records
from metamixup.tables.sentences import learning_told
from metamixup.tables.table import measured
from metamixup.tables.table_files import read_table

DEEPEST = 4  # folders below the one that was named that are searched for runs
INDIFFERENT = ("seed", "data", "model", "method", "control", "data_dir", "replay", "threads", "device", "compile")


@dataclass(frozen=True)
class Finished:
    """A finished run: `settings` are dotted, and tell runs of one method apart; `summary` holds its numbers; `learning`
    says where λ came from."""

    task: str
    method: str
    label: str
    seed: int
    summary: Mapping[str, Any]
    settings: Mapping[str, Any]
    learning: str = ""


def collect_entries(paths: Sequence[Path], against: str = "mixup") -> list[Entry]:
    """Differences are to the method `against` on the same task; stored tables keep the ones that they have."""
    stored = [entry for path in paths if path.suffix == ".json" for entry in read_table(path)[0]]
    runs = [run for path in paths if path.suffix != ".json" for run in _finished(path)]
    if not stored and not runs:
        raise UserError(f"no finished run in {', '.join(map(str, paths))}")
    return stored + entries_of(runs, against)


def run_folders(path: Path) -> list[Path]:
    """The folder itself if it is a run's, or those below it."""
    if (path / "summary.json").exists():
        return [path]
    depths = ["/".join(["*"] * depth) for depth in range(1, DEEPEST + 1)]
    return sorted(found.parent for depth in depths for found in path.glob(f"{depth}/summary.json"))


def entries_of(runs: Sequence[Finished], against: str = "mixup") -> list[Entry]:
    """One entry for all seeds of a method on a task."""
    grouped: dict[tuple[str, str], list[Finished]] = {}
    for run in _told_apart(runs):
        grouped.setdefault((run.task, run.method), []).append(run)
    return [_entry(own, grouped.get((task, against), []), against) for (task, _), own in grouped.items()]


def _entry(own: list[Finished], others: list[Finished], against: str) -> Entry:
    task, name, label, learning = own[0].task, own[0].method, own[0].label, own[0].learning
    mine, theirs = ({run.seed: run.summary for run in runs} for runs in (own, others))
    differences = [mine[s]["test_error"] - theirs[s]["test_error"] for s in sorted(mine) if s in theirs]
    method, control = split_control(name)
    difference = None if name == against else paired(differences)
    numbers = measured({seed: mine[seed] for seed in sorted(mine)}, "test_error")
    return Entry(task, method, control, label, learning=learning, against=against, difference=difference, **numbers)


def _finished(path: Path) -> list[Finished]:
    if path.suffix == ".jsonl":
        records = [r for r in read_records(path) if isinstance(r.get("test_error"), int | float)]
        return [_of_record(record) for record in records]
    if not path.is_dir():
        raise UserError(f"{path} is no run folder, table.json or records.jsonl")
    return [run for folder in run_folders(path) if (run := _of_folder(RunFolder(folder))) is not None]


def _of_record(record: Mapping[str, Any]) -> Finished:
    task, _, last = record["cell"].rpartition("/")
    method = str(record.get("method") or last)
    label, learning = str(record.get("label") or method), str(record.get("learning") or "")
    return Finished(task, method, label, record["seed"], record, {}, learning)


def _of_folder(folder: RunFolder) -> Finished | None:
    """None for a folder whose summary cannot be read, or tells no error: one such must not break a whole table."""
    try:
        summary = folder.read_summary()
    except UserError:
        return None
    if not isinstance(summary.get("test_error"), int | float):
        return None
    task, method = f"{summary.get('data', '?')}/{summary.get('model', '?')}", str(summary.get("method", "?"))
    control = summary.get("control")
    method = f"{method}:{control}" if control and ":" not in method else method
    seed = summary.get("seed")
    settings = _settings(folder)
    seed = seed if isinstance(seed, int) else 0
    return Finished(task, method, method, seed, summary, settings, learning_told(settings))


def _settings(folder: RunFolder) -> dict[str, Any]:
    try:
        return flat(tomllib.loads(read_record(folder.config)))
    except (OSError, ValueError, RecursionError):
        return {}


def _told_apart(runs: Sequence[Finished]) -> list[Finished]:
    """Runs of one method on a task that differ in a setting are rows of their own, named by it."""
    values: dict[tuple[str, str], dict[str, set[str]]] = {}
    for run in runs:
        own = values.setdefault((run.task, run.method), {})
        for key, value in run.settings.items():
            if key not in INDIFFERENT:
                own.setdefault(key, set()).add(json.dumps(value, default=str))
    return [_named(run, [key for key, seen in values[run.task, run.method].items() if len(seen) > 1]) for run in runs]


def _named(run: Finished, differing: list[str]) -> Finished:
    if not differing:
        return run
    told = ", ".join(f"{key} = {run.settings.get(key)}" for key in differing)
    return replace(run, method=f"{run.method} ({told})", label=f"{run.label} ({told})")
