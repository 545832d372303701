"""`metamixup study`: one of the paper's figures, from runs."""

from pathlib import Path
from typing import Annotated

import typer


def study(
    name: Annotated[
        str,
        typer.Argument(
            help="loss, validation-size, intrusion, features, lambda-frequency, lambda-by-class, sigma or lipschitz."
        ),
    ],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.")],
    out: Annotated[Path, typer.Option(help="Where NAME.json, .png, .svg and .html go.")] = Path("studies"),
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie now, if they have moved.")] = None,
    epochs: Annotated[str | None, typer.Option(help="lambda-by-class: which epochs, as 3,30,90,120.")] = None,
    values: Annotated[
        str | None, typer.Option(help="Sweeps: the values to try, as 10,20,50; lambda-frequency: α.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Sweeps: how many seeds for each value.")] = None,
    samples: Annotated[int | None, typer.Option(min=2, help="intrusion: blends; lipschitz: segments.")] = None,
) -> None:
    """Make a figure of the paper: numbers as JSON, a static figure (PNG and SVG), and an interactive one (HTML)."""
    from metamixup.cli.extras import needing

    with needing("report"):
        from metamixup.analysis.studies import Options, make_study

    chosen = Options(
        out, data_dir, _numbers(epochs, int, "--epochs"), _numbers(values, float, "--values"), seeds, samples
    )
    for path in make_study(name, runs, chosen).save(out):
        print(path)


def _numbers(text: str | None, kind: type, option: str) -> list | None:
    from metamixup.errors import UserError

    try:
        return None if text is None else [kind(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"{option} {text!r}: expected numbers with commas between them") from error
