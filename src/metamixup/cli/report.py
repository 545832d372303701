"""`metamixup report`: the page of a run or of a grid, in one file."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    path: Annotated[Path, typer.Argument(metavar="RUN|GRID", help="A run folder, or the folder of a grid.")],
    out: Annotated[Path | None, typer.Option(help="The file to write. [default: page.html in that folder]")] = None,
) -> None:
    """Write a self-contained HTML page: curves, λ, class pairs, images, calibration, mistakes, settings."""
    from metamixup.cli.extras import needing

    with needing("report"):
        from metamixup.report import write_page

    out = out or path / "page.html"
    for text in write_page(path, out):
        print(f"not on the page: {text}")
    print(f"{out} ({out.stat().st_size / 1e6:.1f} MB)")
