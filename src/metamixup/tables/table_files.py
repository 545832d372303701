"""A table as files: table.json for machines, table.md and table.html for people. Made from the entries alone."""

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metamixup.errors import UserError
from metamixup.storage import as_json, read_record, write_atomically
from metamixup.tables.entry import Difference, Entry, best_of, from_json, shared_seeds, to_json
from metamixup.tables.sentences import how_to_read
from metamixup.tables.text_table import Field, TextTable, as_csv, as_html, as_latex, as_markdown, bold, code

HEAD = ("method", "policy", "error %", "published", "difference (95 %)", "seeds", "seconds", "cost")
MISSING = "–"


@dataclass(frozen=True)
class Frame:
    """What stands around the numbers: a title, remarks (quick variant, failed runs), what the marks mean, and the row
    that differences are taken to."""

    title: str
    remarks: tuple[str, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    reference: str = "mixup"


def write_table(out: Path, frame: Frame, entries: Sequence[Entry]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "table.json", as_json([to_json(entry) for entry in entries], indent=2) + b"\n")
    write_atomically(out / "table.md", markdown_page(frame, entries).encode())
    write_atomically(out / "table.html", html_page(frame, entries).encode())


def read_table(path: Path) -> tuple[list[Entry], int]:
    """The entries of a table.json, and how many of them are none."""
    try:
        found = json.loads(read_record(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is no table.json of `metamixup reproduce` ({error})") from error
    if not isinstance(found, list):
        raise UserError(f"{path} is no table.json of `metamixup reproduce`: it holds no list of cells")
    entries = [entry for entry in map(from_json, found) if entry is not None]
    return entries, len(found) - len(entries)


def markdown_page(frame: Frame, entries: Sequence[Entry]) -> str:
    lines = [f"# {frame.title}", "", *(f"{remark}\n" for remark in _remarks(frame, entries))]
    for task, rows in by_task(entries).items():
        lines += [f"## {task}", "", as_markdown(task_table(rows, frame.reference))]
    return "\n".join(lines)


def html_page(frame: Frame, entries: Sequence[Entry]) -> str:
    parts = [f"<h1>{html.escape(frame.title)}</h1>", *(f"<p>{html.escape(r)}</p>" for r in _remarks(frame, entries))]
    for task, rows in by_task(entries).items():
        parts += [f"<h2>{html.escape(task)}</h2>", as_html(task_table(rows, frame.reference))]
    return PAGE.format(title=html.escape(frame.title), body="\n".join(parts))


def csv_table(frame: Frame, entries: Sequence[Entry]) -> str:
    """All tasks in one table, each row with its task."""
    tables = {task: task_table(rows, frame.reference) for task, rows in by_task(entries).items()}
    return as_csv(TextTable(("task", *HEAD), [(task, *row) for task, table in tables.items() for row in table.rows]))


def latex_tables(frame: Frame, entries: Sequence[Entry]) -> str:
    tables = {task: task_table(rows, frame.reference) for task, rows in by_task(entries).items()}
    return "\n".join(f"% {task}\n{as_latex(table)}" for task, table in tables.items())


def by_task(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    grouped: dict[str, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.task, []).append(entry)
    return grouped


def task_table(entries: Sequence[Entry], reference: str) -> TextTable:
    """A row a method; the best contender in bold, controls faint."""
    shown = shared_seeds(entries)
    best = best_of(shown)
    faint = frozenset(place for place, entry in enumerate(shown) if entry.control)
    return TextTable(HEAD, [_fields(entry, reference, entry is best) for entry in shown], left=2, faint=faint)


def _remarks(frame: Frame, entries: Sequence[Entry]) -> list[str]:
    marks = [f"{mark} {meaning.removesuffix('.')}." for mark, meaning in frame.marks]
    return [*how_to_read(entries, frame.reference), *frame.remarks, *marks]


def _fields(entry: Entry, reference: str, best: bool) -> list[Field]:
    error = spread_text(entry.mean, entry.std)
    if entry.published_top5 is not None and entry.top5 is not None:
        error += f" / {entry.top5:.2f}"
    return [
        code(entry.name) if entry.label == entry.name else (f"{entry.label} (", code(entry.name), ")"),
        entry.learning,
        bold(error) if best else error,
        published_text(entry),
        _difference(entry, reference),
        str(len(entry.seeds)),
        MISSING if entry.seconds is None else f"{entry.seconds:.1f}",
        MISSING if entry.cost_ratio is None else f"{entry.cost_ratio:.2f}",
    ]


def _difference(entry: Entry, reference: str) -> Field:
    text = difference_text(entry.difference)
    elsewhere = entry.difference is not None and entry.against not in ("", reference)
    return (f"{text} to ", code(entry.against)) if elsewhere else text


def published_text(entry: Entry) -> str:
    if entry.published is None:
        return MISSING
    text = spread_text(entry.published, entry.published_std)
    text += f" / {entry.published_top5:.2f}" if entry.published_top5 is not None else ""
    return text + ("" if entry.provenance in (None, "paper") else f" {entry.provenance}")


def difference_text(found: Difference | None, digits: int = 2) -> str:
    if found is None:
        return MISSING
    interval = "" if found.low is None else f" [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"
    return f"{found.mean:+.{digits}f}{interval}"


def spread_text(mean: float | None, std: float | None, digits: int = 2, missing: str = MISSING) -> str:
    if mean is None:
        return missing
    return f"{mean:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1a1a1a;
  background: #fff; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .75rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }}
tbody th {{ text-align: left; font-weight: normal; }}
thead th {{ font-weight: 600; border-bottom: 2px solid #888; }}
tr.control {{ color: #666; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #ddd; background: #181818; }} tr.control {{ color: #999; }}
  th, td {{ border-color: #333; }} }}
</style></head><body>
{body}
</body></html>
"""
