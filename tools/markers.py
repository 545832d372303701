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

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from metamixup.tables.entry import Entry, best_of, shared_seeds
from metamixup.tables.table_files import MISSING, by_task, read_table, spread_text
from metamixup.tables.text_table import Field, TextTable, as_markdown, bold
from tools.comparison.parts import Part, make_part

MARKED = re.compile(r"(<!-- table (?P<file>\S+?)(?: (?P<part>[\w-]+))? -->\n).*?(<!-- /table -->)", re.S)


def filled(document: Path) -> str:
    """The document's text with all its tables as the records have them; tables without records stay as they are."""

    def table(match: re.Match[str]) -> str:
        part = part_of(document, match)
        return match[0] if part is None else match[1] + part.text + match[4]

    return MARKED.sub(table, document.read_text(encoding="utf-8"))


def figures(document: Path) -> dict[Path, Callable[[], str]]:
    """The files that its figures are in, with how to draw what belongs into them."""
    parts = [part_of(document, match) for match in MARKED.finditer(document.read_text(encoding="utf-8"))]
    return {document.parent / part.file: part.drawing for part in parts if part is not None and part.file}


def part_of(document: Path, match: re.Match[str]) -> Part | None:
    """What belongs between two markers; None where the records are missing."""
    records = document.parent / match["file"]
    if not records.exists():
        return None
    return make_part(records, match["part"]) if match["part"] else Part(compact_table(read_table(records)[0]))


def compact_table(entries: Sequence[Entry]) -> str:
    """Markdown, a row a method and a column a task: mean ± deviation over the seeds that all methods of the task have,
    the best of a task in bold. Controls are left out."""
    measured = [entry for entry in entries if entry.mean is not None and not entry.control]
    columns = {task: shared_seeds(own) for task, own in by_task(measured).items()}
    fields = {(entry.label, task): _field(entry, own) for task, own in columns.items() for entry in own}
    labels = list(dict.fromkeys(entry.label for entry in measured))
    rows = [[label, *(fields.get((label, task), MISSING) for task in columns)] for label in labels]
    return as_markdown(TextTable(("test error, %", *columns), rows))


def _field(entry: Entry, task: Sequence[Entry]) -> Field:
    text = spread_text(entry.mean, entry.std)
    return bold(text) if entry is best_of(task) else text


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
