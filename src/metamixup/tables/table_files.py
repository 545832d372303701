"""A table as files: table.json for machines, table.md and table.html for people. Made from the entries alone."""

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metamixup.errors import UserError
from metamixup.storage import write_atomically

Entry = dict[str, Any]
HEAD = ("method", "error %", "published", "difference (95 %)", "seeds", "seconds", "cost")


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
    write_atomically(out / "table.json", (json.dumps(list(entries), indent=2, ensure_ascii=False) + "\n").encode())
    write_atomically(out / "table.md", as_markdown(frame, entries).encode())
    write_atomically(out / "table.html", as_html(frame, entries).encode())


def page_from(source: Path, title: str, notes: tuple[str, ...]) -> str:
    """The Markdown of a stored table.json, with the budget of each column."""
    try:
        entries = json.loads(source.read_text(encoding="utf-8"))
        budgets = {f"{entry['cell'].rpartition('/')[0]}: {entry['budget']}.": None for entry in entries}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{source} is no table.json of `metamixup reproduce` ({error})") from error
    return as_markdown(Frame(title, (*notes, *budgets)), entries)


def as_markdown(frame: Frame, entries: Sequence[Entry]) -> str:
    lines = [f"# {frame.title}", "", *(f"{remark}\n" for remark in _remarks(frame))]
    for name, rows in _columns(entries):
        lines += [f"## {name}", "", _line(HEAD), _line(["---", *["---:"] * (len(HEAD) - 1)])]
        lines += [_line(_texts(row, frame, best=_is_best(row, rows))) for row in rows]
        lines.append("")
    return "\n".join(lines)


def as_html(frame: Frame, entries: Sequence[Entry]) -> str:
    parts = [f"<h1>{html.escape(frame.title)}</h1>", *(f"<p>{html.escape(r)}</p>" for r in _remarks(frame))]
    for name, rows in _columns(entries):
        body = "".join(_html_row(row, frame, _is_best(row, rows)) for row in rows)
        head = "".join(f"<th>{html.escape(h)}</th>" for h in HEAD)
        parts.append(f"<h2>{html.escape(name)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return PAGE.format(title=html.escape(frame.title), body="\n".join(parts))


def _remarks(frame: Frame) -> list[str]:
    fixed = (
        "Mean ± standard deviation of the last epoch's test error over the seeds; the difference is to "
        f"`{frame.reference}` unless another row is named, paired by seed, with its 95 % t-interval; cost is the "
        "training time (on a CPU: its own time) against the baseline's."
    )
    return [fixed, *frame.remarks, *(f"{mark} {meaning}." for mark, meaning in frame.marks)]


def _columns(entries: Sequence[Entry]) -> Iterable[tuple[str, list[Entry]]]:
    grouped: dict[str, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry["cell"].rpartition("/")[0], []).append(entry)
    return grouped.items()


def _is_best(entry: Entry, rows: Sequence[Entry]) -> bool:
    """Controls are no contenders."""
    means = [r["mean"] for r in rows if r["mean"] is not None and ":" not in r["method"]]
    return bool(means) and entry["mean"] == min(means) and ":" not in entry["method"]


def _texts(entry: Entry, frame: Frame, best: bool) -> list[str]:
    error = _with_spread(entry["mean"], entry["std"])
    if entry.get("published_top5") is not None and entry["top5"] is not None:
        error += f" / {entry['top5']:.2f}"
    return [
        f"{entry['label']} (`{entry['method']}`)",
        f"**{error}**" if best else error,
        published_text(entry),
        _difference(entry, frame),
        str(len(entry["seeds"])),
        "–" if entry["seconds"] is None else f"{entry['seconds']:.1f}",
        "–" if entry["cost_ratio"] is None else f"{entry['cost_ratio']:.2f}",
    ]


def _difference(entry: Entry, frame: Frame) -> str:
    text, against = difference_text(entry["paired_vs_mixup"]), entry.get("against", frame.reference)
    return text if text == "–" or against == frame.reference else f"{text} to `{against}`"


def _html_row(entry: Entry, frame: Frame, best: bool) -> str:
    name, *values = _texts(entry, frame, best=False)
    cells = "".join(f"<td>{html.escape(value.replace('`', ''))}</td>" for value in values)
    kind = ' class="best"' if best else ' class="control"' if ":" in entry["method"] else ""
    return f"<tr{kind}><th>{html.escape(name.replace('`', ''))}</th>{cells}</tr>"


def published_text(entry: Entry) -> str:
    if entry["published"] is None:
        return "–"
    text = _with_spread(entry["published"], entry["published_std"])
    text += f" / {entry['published_top5']:.2f}" if entry["published_top5"] is not None else ""
    return text + ("" if entry["provenance"] == "paper" else f" {entry['provenance']}")


def difference_text(found: dict[str, float | None] | None, digits: int = 2) -> str:
    if found is None or found["diff"] is None:
        return "–"
    interval = "" if found["low"] is None else f" [{found['low']:+.{digits}f}, {found['high']:+.{digits}f}]"
    return f"{found['diff']:+.{digits}f}{interval}"


def _with_spread(mean: float | None, std: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def _line(values: Iterable[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1a1a1a;
  background: #fff; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .75rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }}
th:first-child {{ text-align: left; font-weight: normal; }}
thead th {{ font-weight: 600; border-bottom: 2px solid #888; }}
tr.best td:nth-child(2) {{ font-weight: 700; }}
tr.control {{ color: #666; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #ddd; background: #181818; }} tr.control {{ color: #999; }}
  th, td {{ border-color: #333; }} }}
</style></head><body>
{body}
</body></html>
"""
