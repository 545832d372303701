"""Tables and figures in documents, made from records and never typed: what stands between two markers is written anew,
and all else is left alone.

    <!-- table results/table1-all-images.json -->
    …
    <!-- /table -->

    <!-- table results/winners.jsonl verdict -->
    …
    <!-- /table -->

`python -m tools.markers README.md` fills them, `--check` only tells whether they are up to date. Records of another
version of the code are refused, unless `--any-version` is given. Records are
what `metamixup reproduce` writes: a table.json, or a records.jsonl under the name of its recipe, of which a part is
named (`tools.comparison.parts`). Paths are relative to the document; figures are written beside it.
"""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from metamixup import __version__
from metamixup.tables.entry import Entry, best_of, shared_seeds
from metamixup.tables.records import read_records
from metamixup.tables.table_files import MISSING, by_task, read_table, spread_text
from metamixup.tables.text_table import Field, TextTable, as_markdown, bold
from tools.audit_table import audit_table, cost_table, share_table, tenths_table
from tools.comparison.parts import Part, make_part

MARKED = re.compile(r"(<!-- table (?P<file>\S+?)(?: (?P<part>[\w-]+))? -->\n).*?(<!-- /table -->)", re.S)

AUDIT = {"audit": audit_table, "audit-shares": share_table, "audit-tenths": tenths_table, "audit-costs": cost_table}


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
    if match["part"] in AUDIT:
        return Part(AUDIT[match["part"]](records))
    return make_part(records, match["part"]) if match["part"] else Part(compact_table(read_table(records)[0]))


def compact_table(entries: Sequence[Entry]) -> str:
    """Markdown, a row a method and a column a task: where λ came from, and mean ± deviation over the seeds that all
    methods of the task have, the best of a task in bold. Controls are left out."""
    measured = [entry for entry in entries if entry.mean is not None and not entry.control]
    columns = {task: shared_seeds(own) for task, own in by_task(measured).items()}
    fields = {(entry.label, task): _field(entry, own) for task, own in columns.items() for entry in own}
    labels = list(dict.fromkeys(entry.label for entry in measured))
    learning = {entry.label: entry.learning or MISSING for entry in measured}
    rows = [[label, learning[label], *(fields.get((label, task), MISSING) for task in columns)] for label in labels]
    return as_markdown(TextTable(("test error, %", "policy", *columns), rows, left=2))


def _field(entry: Entry, task: Sequence[Entry]) -> Field:
    alone = len(entry.seeds) == 1 < max(len(other.seeds) for other in task)
    text = spread_text(entry.mean, entry.std) + (" (1 seed)" if alone else "")
    return bold(text) if entry is best_of(task) else text


def stale(document: Path) -> dict[Path, set[str]]:
    """Its records that another version of the code has made, with the versions ("unknown" where none is told)."""
    text = document.read_text(encoding="utf-8")
    paths = dict.fromkeys(document.parent / match["file"] for match in MARKED.finditer(text))
    found = {path: versions(path) - {__version__} for path in paths if path.exists()}
    return {path: others for path, others in found.items() if others}


def versions(records: Path) -> set[str]:
    if records.suffix == ".jsonl":
        return {str(record.get("version") or "unknown") for record in read_records(records)}
    return {version for entry in read_table(records)[0] for version in entry.versions or ("unknown",)}


def main(arguments: Sequence[str]) -> int:
    """Gives 1 if, with --check, a document is behind its records, or if records are of another version."""
    options = {"--check", "--any-version"} & set(arguments)
    documents = [Path(name) for name in arguments if name not in options]
    if not options:
        others = {path: found for document in documents for path, found in stale(document).items()}
        for path, found in others.items():
            print(
                f"{path}: made by version {', '.join(sorted(found))}, not {__version__}; run it again, or --any-version"
            )
        if others:
            return 1
    behind = [document for document in documents if not up_to_date(document)]
    for document in behind:
        print(f"{document}: {'is behind its records' if '--check' in options else 'tables written'}")
        if "--check" not in options:
            write(document)
    return int(bool(behind) and "--check" in options)


def up_to_date(document: Path) -> bool:
    filled_in = filled(document) == document.read_text(encoding="utf-8")
    return filled_in and all(file.exists() for file in figures(document))


def write(document: Path) -> None:
    document.write_text(filled(document), encoding="utf-8")
    for file, drawing in figures(document).items():
        file.write_text(drawing(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
