"""`metamixup table`: any finished runs as one table, or as a forest plot."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    md = "md"
    html = "html"
    csv = "csv"
    latex = "latex"
    svg = "svg"


def table(
    sources: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Run folders, folders of them, table.json or records.jsonl.")
    ],
    format: Annotated[Format, typer.Option(help="svg is a forest plot of the paired differences.")] = Format.md,
    against: Annotated[str, typer.Option(help="The method that differences are taken to.")] = "mixup",
    out: Annotated[Path | None, typer.Option(help="The file to write. [default: print it]")] = None,
    title: Annotated[str, typer.Option(help="Its title (md, html).")] = "Results",
    note: Annotated[list[str] | None, typer.Option(help="A remark below the title. May be given again.")] = None,
) -> None:
    """Put finished runs side by side: means over the seeds that all share, and differences paired by seed."""
    from metamixup.storage import write_output
    from metamixup.tables.collected import collect_entries
    from metamixup.tables.forest import forest
    from metamixup.tables.table_files import Frame, csv_table, html_page, latex_tables, markdown_page

    entries = collect_entries(sources, against)
    budgets = {f"{entry.task}: {entry.budget}.": None for entry in entries if entry.budget}
    frame = Frame(title, (*(note or ()), *budgets), reference=against)
    make = {
        Format.md: lambda: markdown_page(frame, entries),
        Format.html: lambda: html_page(frame, entries),
        Format.csv: lambda: csv_table(frame, entries),
        Format.latex: lambda: latex_tables(frame, entries),
        Format.svg: lambda: forest(entries, against),
    }
    text = make[format]()
    if out is None:
        print(text, end="")
    else:
        write_output(out, text)
        print(out)
