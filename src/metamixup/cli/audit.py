"""`metamixup audit`: which labels look wrong."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metamixup.errors import UserError

if TYPE_CHECKING:
    from metamixup.audit.findings import Audit
    from metamixup.audit.images import Labelled


TRAINING = "training networks to judge by:"


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"


def audit(
    source: Annotated[str, typer.Argument(metavar="RUN|FOLDER", help="A run, a folder of images, or a data set.")],
    format: Annotated[Format, typer.Option(help="How the list is printed.")] = Format.table,
    most: Annotated[int, typer.Option(min=1, help="Rows of the printed table.")] = 20,
    out: Annotated[Path | None, typer.Option(help="Write the whole list there, as --format says.")] = None,
    page: Annotated[bool, typer.Option("--page", help="Also write audit.html, a page to decide on labels.")] = False,
    data: Annotated[str | None, typer.Option(help="Where the images of a run lie now, if they have moved.")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie; else $METAMIXUP_DATA.")] = None,
    model: Annotated[str | None, typer.Option(help="New networks of this kind judge; for a folder cnn-bn.")] = None,
    image_size: Annotated[int | None, typer.Option(help="Scale images of a folder to this size.")] = None,
) -> None:
    """Rank the labels that look wrong, with the class that each image likely is.

    The images of a folder are judged by networks that were not trained on them; those of a run by what it learned."""
    from metamixup.audit.findings import as_table, audit_csv, audit_json
    from metamixup.cli.columns import print_columns
    from metamixup.cli.output import printable
    from metamixup.storage import check_output, write_output
    from metamixup.tables.text_table import plain

    page_file = Path(source) / "audit.html" if is_run(source) else Path("audit.html")
    for file in [*([out] if out else []), *([page_file] if page else [])]:
        check_output(file)  # before the work, which takes minutes
    with progress() as heard:
        found, images = find(source, data, data_dir, model, image_size, heard)
    whole = {Format.csv: audit_csv, Format.json: audit_json}
    if out is not None:
        write_output(out, whole.get(format, audit_csv)(found))
    if format in whole and out is None:
        print(whole[format](found), end="")
    elif format not in whole:
        table = as_table(found, most)
        print_columns(table.head, [[plain(field) for field in row] for row in table.rows])
    print(printable(found.sentence()), file=sys.stderr if format in whole else sys.stdout)
    if page:
        write(found, images, page_file)


def is_run(source: str) -> bool:
    return (Path(source) / "config.toml").exists()


def find(
    source: str,
    data: str | None,
    data_dir: str | None,
    model: str | None,
    image_size: int | None,
    heard: Callable[[float], None],
) -> "tuple[Audit, Labelled]":
    if is_run(source):
        from metamixup.audit.run import audit_run

        if image_size is not None:
            raise UserError("--image-size is for a folder; the images of a run have the size that it was trained with")
        return audit_run(Path(source), data_dir, model, heard, data)
    if data is not None:
        raise UserError(f"--data says where the images of a run lie now, and {source} is no run; leave it out")
    from metamixup.audit.audit import MODEL, audit_images
    from metamixup.audit.images import labelled_images

    images = labelled_images(source, data_dir, image_size)
    return audit_images(images, model=model or MODEL, heard=heard), images


@contextmanager
def progress() -> Iterator[Callable[[float], None]]:
    """One line of a terminal, beside what is printed; it is wiped before the list comes."""
    shown = sys.stderr.isatty()

    def heard(share: float) -> None:
        if shown:
            print(f"\r{TRAINING} {100 * share:3.0f} %", end="", file=sys.stderr, flush=True)

    try:
        yield heard
    finally:
        if shown:
            print("\r" + " " * (len(TRAINING) + 6) + "\r", end="", file=sys.stderr, flush=True)


def write(found: "Audit", images: "Labelled", out: Path) -> None:
    from metamixup.cli.extras import needing

    with needing("report"):
        from metamixup.report.audit import write_audit_page
    write_audit_page(found, images.images, out)
    print(f"{out} ({out.stat().st_size / 1e6:.1f} MB): open it in a browser", file=sys.stderr)
