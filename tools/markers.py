"""Tables and figures in documents, made from records and never typed: what stands between two markers is written anew,
and all else is left alone.

    <!-- table results/table1-cpu.json -->
    …
    <!-- /table -->

    <!-- table results/winners.jsonl verdict -->
    …
    <!-- /table -->

`python -m tools.markers README.md` fills them, `--check` only tells whether they are up to date. Records are
what `metamixup reproduce` writes: a table.json, or a records.jsonl under the name of its recipe, of which a part is
named (`tools.comparison.parts`). Paths are relative to the document; figures are written beside it.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from metamixup.errors import UserError
from tools.comparison.parts import Part, make_part

Entry = dict[str, Any]
MARKED = re.compile(r"(<!-- table (?P<file>\S+?)(?: (?P<part>[\w-]+))? -->\n).*?(<!-- /table -->)", re.S)


def filled(document: Path) -> str:
    """The document's text with all its tables as the records have them; tables without records stay as they are."""

    def table(match: re.Match[str]) -> str:
        part = made(document, match)
        return match[0] if part is None else match[1] + part.text + match[4]

    return MARKED.sub(table, document.read_text(encoding="utf-8"))


def figures(document: Path) -> dict[Path, Callable[[], str]]:
    """The files that its figures are in, with how to draw what belongs into them."""
    parts = [made(document, match) for match in MARKED.finditer(document.read_text(encoding="utf-8"))]
    return {document.parent / part.file: part.drawing for part in parts if part is not None and part.file}


def made(document: Path, match: re.Match[str]) -> Part | None:
    records = document.parent / match["file"]
    if not records.exists():
        return None
    return make_part(records, match["part"]) if match["part"] else Part(compact_table(read_entries(records)))


def read_entries(path: Path) -> list[Entry]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [entry for entry in entries if entry["mean"] is not None and ":" not in entry["method"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f"{path} holds no entries of a table ({error})") from error


def compact_table(entries: Sequence[Entry]) -> str:
    """Markdown, a row a method and a column a task: mean ± deviation over the seeds, the best of a task in bold."""
    tasks = list(dict.fromkeys(_task(entry) for entry in entries))
    labels = list(dict.fromkeys(entry["label"] for entry in entries))
    found = {(entry["label"], _task(entry)): entry for entry in entries}
    best = {task: min(e["mean"] for e in entries if _task(e) == task) for task in tasks}
    lines = ["| test error, % | " + " | ".join(tasks) + " |", "|---" + "|---:" * len(tasks) + "|"]
    for label in labels:
        cells = [_cell(found.get((label, task)), best[task]) for task in tasks]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _task(entry: Entry) -> str:
    return str(entry["cell"]).rpartition("/")[0]


def _cell(entry: Entry | None, best: float) -> str:
    if entry is None:
        return "–"
    spread = "" if entry.get("std") is None else f" ± {entry['std']:.2f}"
    text = f"{entry['mean']:.2f}{spread}"
    return f"**{text}**" if entry["mean"] == best else text


def main(arguments: Sequence[str]) -> int:
    """Gives 1 if, with --check, a document is behind its records."""
    behind = 0
    for document in (Path(name) for name in arguments if name != "--check"):
        text = filled(document)
        if text == document.read_text(encoding="utf-8") and all(file.exists() for file in figures(document)):
            continue
        behind = 1
        print(f"{document}: {'is behind its records' if '--check' in arguments else 'tables written'}")
        if "--check" not in arguments:
            document.write_text(text, encoding="utf-8")
            for file, drawing in figures(document).items():
                file.write_text(drawing(), encoding="utf-8")
    return behind if "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
