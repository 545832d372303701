"""What the page of a grid shows: its table against the published numbers, paired differences and controls."""

import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from metamixup.analysis.records import read_run
from metamixup.errors import UserError

TABLE = "table.json"
_DEEPEST = 4


def is_grid(path: Path) -> bool:
    """A table, or a folder of runs that is no run itself."""
    return (path / TABLE).exists() or (not (path / "config.toml").exists() and bool(_summaries(path)))


def grid_context(path: Path) -> dict[str, Any]:
    cells, missing = _cells(path)
    groups = _groups(cells)
    return {
        "kind": "grid of runs",
        "title": path.resolve().name,
        "subtitle": f"{len(cells)} cells, {sum(len(c['error']) for c in cells)} runs",
        "missing": missing,
        "groups": groups,
        "has_controls": any(row["control"] for group in groups for row in group["rows"]),
        "data": {},
    }


def _summaries(path: Path) -> list[Path]:
    depths = ["/".join(["*"] * depth) for depth in range(1, _DEEPEST + 1)]
    return sorted(p for depth in depths for p in path.glob(f"{depth}/summary.json"))


def _cells(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    table = path / TABLE
    if not table.exists():
        found = _from_runs(_summaries(path))
        return found, [f"{TABLE} is missing, the grid is unfinished: means only, no paired differences"]
    try:
        entries = json.loads(table.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{table} cannot be read ({error}); run `metamixup reproduce` in this folder again") from error
    entries = entries.get("cells") if isinstance(entries, dict) else entries
    if not isinstance(entries, list):
        raise UserError(f"{table} holds no list of cells; run `metamixup reproduce` in this folder again")
    cells = [cell for entry in entries if (cell := _cell(entry)) is not None]
    unread = len(entries) - len(cells)
    empty = sum(not cell["error"] for cell in cells)
    told = [f"{unread} entries of {TABLE} are no cells"] * bool(unread) + [f"{empty} cells have no run yet"] * bool(
        empty
    )
    return cells, told


def _cell(entry: Any) -> dict[str, Any] | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("cell"), str):
        return None
    errors = [e for e in _list(entry.get("error")) if _is(e)]
    return entry | {"error": errors, "method": str(entry.get("method") or entry["cell"].rpartition("/")[2])}


def _from_runs(summaries: list[Path]) -> list[dict[str, Any]]:
    errors: dict[str, list[float]] = {}
    for path in summaries:
        found = read_run(path.parent).summary
        cell = "/".join(str(found.get(key, "?")) for key in ("data", "model", "method"))
        if isinstance(found.get("test_error"), int | float):
            errors.setdefault(cell, []).append(found["test_error"])
    return [
        {"cell": cell, "method": cell.rpartition("/")[2], "error": values, "mean": mean(values)}
        | ({"std": stdev(values)} if len(values) > 1 else {})
        for cell, values in errors.items()
    ]


def _groups(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells by task (data and model), each with its own scales."""
    tasks: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        task = cell["cell"].removesuffix(cell["method"]).rstrip("/")
        tasks.setdefault(task or cell["cell"], []).append(cell)
    return [_group(task, own) for task, own in tasks.items()]


def _group(task: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    values = [v for c in cells for v in (*c["error"], c.get("published")) if isinstance(v, int | float)]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    pad = 0.08 * (high - low) or 0.5
    ends = [v for c in cells for v in _difference(c).values() if v is not None]
    reach = max((abs(v) for v in ends), default=1.0) * 1.1 or 1.0
    best = min((c["mean"] for c in cells if _is(c.get("mean"))), default=None)
    rows = [_row(c, low - pad, high + pad, reach, best) for c in cells]
    return {"task": task, "low": low, "high": high, "reach": reach, "rows": rows}


def _row(cell: dict[str, Any], low: float, high: float, reach: float, best: float | None) -> dict[str, Any]:
    def place(value: Any) -> float | None:
        return round(100 * (value - low) / (high - low), 2) if _is(value) else None

    difference = _difference(cell)
    return {
        "method": cell["method"],
        "control": cell["method"].partition(":")[2],
        "mean": _shown(cell.get("mean")),
        "std": _shown(cell.get("std")),
        "best": best is not None and cell.get("mean") == best,
        "seeds": len(cell["error"]),
        "dots": [place(v) for v in cell["error"]],
        "middle": place(cell.get("mean")),
        "published": _shown(cell.get("published")),
        "published_at": place(cell.get("published")),
        "provenance": str(cell.get("provenance") or ""),
        "difference": {k: _shown(v, "+.2f") for k, v in difference.items()},
        "interval": {k: 50 + 50 * v / reach for k, v in difference.items() if v is not None},
        "sure": _sure(difference),
        "cost": _shown(cell.get("cost_ratio")),
        "seconds": _shown(cell.get("seconds"), ",.0f"),
    }


def _difference(cell: dict[str, Any]) -> dict[str, float | None]:
    found = cell.get("paired_vs_mixup")
    found = found if isinstance(found, dict) else {}
    return {key: found[key] if _is(found.get(key)) else None for key in ("diff", "low", "high")}


def _sure(difference: dict[str, float | None]) -> str:
    """Better or worse where the whole interval says so."""
    low, high = difference["low"], difference["high"]
    if low is None or high is None or low <= 0 <= high:
        return ""
    return "better" if high < 0 else "worse"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is(value: Any) -> bool:
    """A number that can be drawn."""
    return isinstance(value, int | float) and abs(value) < 1e100


def _shown(value: Any, form: str = ".2f") -> str:
    return format(value, form) if _is(value) else ""
