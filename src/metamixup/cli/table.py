"""`metamixup table`: a page of the documentation from the table.json of a grid."""

from pathlib import Path
from typing import Annotated

import typer


def table(
    source: Annotated[Path, typer.Argument(metavar="TABLE.json", help="What `metamixup reproduce` wrote.")],
    out: Annotated[Path, typer.Option(help="The Markdown file to write.")],
    title: Annotated[str, typer.Option(help="The page's title.")],
    note: Annotated[list[str] | None, typer.Option(help="A remark below the title. May be given again.")] = None,
) -> None:
    """Render a stored table as Markdown. No number on the page is typed by hand."""
    from metamixup.storage import write_output
    from metamixup.tables.table_files import page_from

    write_output(out, page_from(source, title, tuple(note or ())))
    print(out)
