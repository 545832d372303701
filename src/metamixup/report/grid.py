"""What the page of a grid shows: its table against the published numbers, paired differences and controls."""

from pathlib import Path
from typing import Any

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.tables.collected import collect_entries, run_folders
from metamixup.tables.entry import Entry, best_of, shared_seeds
from metamixup.tables.table_files import by_task, read_table

TABLE = "table.json"


def is_grid(path: Path) -> bool:
    """A table, or a folder of runs that is no run itself."""
    return (path / TABLE).exists() or (not RunFolder(path).holds_run and bool(run_folders(path)))


def grid_context(path: Path) -> dict[str, Any]:
    entries, missing = _entries(path)
    return {
        "kind": "grid of runs",
        "title": path.resolve().name,
        "subtitle": f"{len(entries)} cells, {sum(len(entry.errors) for entry in entries)} runs",
        "missing": missing,
        "groups": [_group(task, shared_seeds(own)) for task, own in by_task(entries).items()],
        "has_controls": any(entry.control for entry in entries),
        "data": {},
    }


def _entries(path: Path) -> tuple[list[Entry], list[str]]:
    table = path / TABLE
    if not table.exists():
        return collect_entries([path]), [f"{TABLE} is missing, the grid is unfinished: the runs that it has"]
    try:
        entries, unread = read_table(table)
    except UserError as error:
        raise UserError(f"{error}; run `metamixup reproduce` in this folder again") from error
    empty = sum(not entry.errors for entry in entries)
    told = [f"{unread} entries of {TABLE} are no cells"] if unread else []
    return entries, told + ([f"{empty} cells have no run yet"] if empty else [])


def _group(task: str, entries: list[Entry]) -> dict[str, Any]:
    """One task with its own scales; the page draws places in percent of the width."""
    values = [v for e in entries for v in (*e.errors, e.published) if v is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    pad = 0.08 * (high - low) or 0.5
    differences = [e.difference for e in entries if e.difference is not None]
    ends = [v for d in differences for v in (d.mean, d.low, d.high) if v is not None]
    reach = max((abs(v) for v in ends), default=1.0) * 1.1 or 1.0
    best = best_of(entries)
    rows = [_row(entry, low - pad, high + pad, reach, entry is best) for entry in entries]
    return {"task": task, "low": low, "high": high, "reach": reach, "rows": rows}


def _row(entry: Entry, low: float, high: float, reach: float, best: bool) -> dict[str, Any]:
    def place(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - low) / (high - low), 2)

    found = entry.difference
    ends = {} if found is None else {"diff": found.mean, "low": found.low, "high": found.high}
    return {
        "method": entry.name,
        "control": entry.control,
        "mean": _shown(entry.mean),
        "std": _shown(entry.std),
        "best": best,
        "seeds": len(entry.errors),
        "dots": [place(v) for v in entry.errors],
        "middle": place(entry.mean),
        "published": _shown(entry.published),
        "published_at": place(entry.published),
        "provenance": entry.provenance if entry.provenance not in (None, "paper") else "",
        "difference": {key: _shown(value, "+.2f") for key, value in ends.items()},
        "interval": {key: 50 + 50 * value / reach for key, value in ends.items() if value is not None},
        "sure": "" if found is None else "better" if found.below else "worse" if found.above else "",
        "cost": _shown(entry.cost_ratio),
        "seconds": _shown(entry.seconds, ",.0f"),
    }


def _shown(value: float | None, form: str = ".2f") -> str:
    return "" if value is None else format(value, form)
