"""`metamixup study`: one of the paper's figures, from runs, or from a recipe whose runs it trains."""

from pathlib import Path
from typing import Annotated

import typer

METHODS = "mixup,metamixup,metamixup-logit,trustmix"


def study(
    name: Annotated[
        str,
        typer.Argument(
            help="loss, validation-size, intrusion, features, lambda-frequency, lambda-by-class, sigma or lipschitz."
        ),
    ],
    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN…", help="Run folders.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="Where NAME.json, .png, .svg and .html go.")] = Path("studies"),
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie now, if they have moved.")] = None,
    epochs: Annotated[str | None, typer.Option(help="lambda-by-class: which epochs, as 3,30,90,120.")] = None,
    values: Annotated[
        str | None, typer.Option(help="Sweeps: the values to try, as 10,20,50; lambda-frequency: α.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Sweeps: how many seeds for each value.")] = None,
    samples: Annotated[int | None, typer.Option(min=2, help="intrusion: blends; lipschitz: segments.")] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Instead of runs: train this recipe (`metamixup ls recipes`) below OUT/runs.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help=f"The methods that the recipe is trained with.  [default: {METHODS}]")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting that differs from the recipe's.")
    ] = None,
) -> None:
    """Make a figure of the paper: numbers as JSON, a static figure (PNG and SVG), and an interactive one (HTML)."""
    from metamixup.cli.extras import needing

    with needing("report"):
        from metamixup.analysis.studies import Options, find_study

    moved = data_dir if recipe is None else None  # a recipe's runs are told where their data are
    chosen = Options(out, moved, _numbers(epochs, int, "--epochs"), _numbers(values, float, "--values"), seeds, samples)
    asked = find_study(name, chosen)  # before anything is trained for it
    folders = _runs(runs or [], recipe, methods, set_ or [], data_dir, out)
    for path in asked.make(folders, chosen).save(out):
        print(path)


def _runs(
    runs: list[Path], recipe: str | None, methods: str | None, assignments: list[str], data_dir: str | None, out: Path
) -> list[Path]:
    """The folders that were named, or those of the recipe's runs, trained where they are not there yet."""
    from metamixup.analysis.sweep import recipe_runs
    from metamixup.cli.train import given_settings
    from metamixup.errors import UserError

    if bool(runs) == (recipe is not None):
        raise UserError("name the run folders to study, or a recipe to train (--recipe mnist-fast), one of the two")
    if recipe is None:
        if methods or assignments:
            raise UserError("--methods and --set belong to --recipe: runs that are there have their settings")
        return runs
    every_epoch = {"evaluate_every": 1, "test_views": "plain", "data_dir": data_dir}
    given = given_settings(recipe, None, every_epoch, assignments)
    if any(one.split("=")[0].strip() == "method" for one in assignments):
        raise UserError("--set method=… : name the methods of a study by --methods")
    return recipe_runs(recipe, given, [one.strip() for one in (methods or METHODS).split(",")], out)


def _numbers(text: str | None, kind: type, option: str) -> list | None:
    from metamixup.errors import UserError

    try:
        return None if text is None else [kind(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"{option} {text!r}: expected numbers with commas between them") from error
