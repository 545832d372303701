"""`metamixup reproduce`: a table of the paper, run as a grid."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from metamixup.tables.cells import Choice
    from metamixup.tables.reproduce import Reproduction
    from metamixup.tables.runner import Runner


def reproduce(
    table: Annotated[str, typer.Argument(help="table1, table2, …, gauntlet, or a recipe file of your own.")],
    only: Annotated[list[str] | None, typer.Option(help="Cells by pattern: 'cifar10/*'. May be given again.")] = None,
    methods: Annotated[str | None, typer.Option(help="Rows, separated by commas.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs a cell.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small variant for two CPU cores.")] = False,
    budget: Annotated[str, typer.Option(help="cpu: all images, and networks that two CPU cores train.")] = "",
    controls: Annotated[
        bool | None, typer.Option("--controls/--no-controls", help="Controls of learned policies as rows.")
    ] = None,
    rivals_use_meta: Annotated[
        bool, typer.Option("--rivals-use-meta", help="Methods that learn nothing from the meta set train on it.")
    ] = False,
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie; else $METAMIXUP_DATA.")] = None,
    out: Annotated[Path | None, typer.Option(help="[default: runs/TABLE, runs/TABLE-quick or -cpu]")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at once, each with one thread. [default: 2; on Ray all cores]")
    ] = None,
    on: Annotated[str, typer.Option(help="Where: local, or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="A Ray cluster; else $RAY_ADDRESS, or this machine.")] = None,
    code: Annotated[
        list[str] | None, typer.Option(help="A package.module:Class that the recipe may import. May be given again.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the grid and its expected cost.")] = False,
    collect: Annotated[
        bool, typer.Option("--collect", help="Write the files from what is finished; run nothing.")
    ] = False,
) -> None:
    """Run every method of a table side by side, and put the results beside the published numbers.

    Started again, it skips what is finished and goes on with what was interrupted."""
    from metamixup.tables.cells import Choice

    choice = Choice(
        quick=quick,
        budget=budget,
        only=tuple(pattern for text in only or [] for pattern in text.split(",")),
        methods=tuple(name.strip() for name in methods.split(",")) if methods else (),
        seeds=seeds,
        controls=controls,
        rivals_use_meta=rivals_use_meta,
        data_dir=data_dir and str(Path(data_dir).expanduser().absolute()),
    )
    name = Path(table).stem
    place = out or Path("runs") / "-".join(filter(None, (name, "quick" if quick else budget)))
    if collect:
        collect_table(table, choice, place, code or ())
    else:
        run_table(table, choice, place, dry_run, jobs, on, address, code or ())


def run_table(
    name: str,
    choice: "Choice",
    out: Path,
    dry_run: bool = False,
    jobs: int | None = None,
    on: str = "local",
    address: str | None = None,
    code: Sequence[str] = (),
) -> None:
    from metamixup.cli.grid_view import GridView
    from metamixup.settings.resolve import resolve

    reproduction = planned(name, choice, out, code)
    if dry_run:
        for cell in reproduction.cells:
            resolve(cell.given)  # an unknown row or setting is told now
        print_grid(reproduction)
        return
    runner, at_once = make_runner(on, address, out)
    with GridView(reproduction) as view:
        grid = reproduction.go(runner, jobs or at_once, view)
    print((out / "table.md").read_text(encoding="utf-8"))
    print(f"{out / 'table.md'}, .json, .html and records.jsonl; {grid.count('skipped')} runs were finished before")
    if grid.count("interrupted", "waiting", "running"):
        print("interrupted; the same command goes on from here")
        raise typer.Exit(75)
    if grid.count("failed"):
        raise typer.Exit(1)


def planned(name: str, choice: "Choice", out: Path, code: Sequence[str]) -> "Reproduction":
    from metamixup.tables.recipe import load_recipe, refuse_strange_code
    from metamixup.tables.reproduce import Reproduction

    recipe = load_recipe(name)
    refuse_strange_code(recipe, name, code)
    return Reproduction(recipe, choice, out)


def collect_table(name: str, choice: "Choice", out: Path, code: Sequence[str] = ()) -> None:
    reproduction = planned(name, choice, out, code)
    grid = reproduction.collect(make_runner("local", None, out)[0])
    done = f"{grid.count('skipped')} of {len(grid.runs)} runs are finished"
    print(f"{done}; {out / 'table.md'}, .json, .html and records.jsonl")


def make_runner(on: str, address: str | None, out: Path) -> "tuple[Runner, int]":
    """Who carries the runs out, and how many at once unless the user says."""
    from metamixup.cli.extras import needing
    from metamixup.errors import UserError, unknown
    from metamixup.tables.local import LocalRunner

    if on == "local" and address is None:
        return LocalRunner(out / "logs"), 2
    if on not in ("local", "ray"):
        raise unknown("place", on, ("local", "ray"))
    if on == "local":
        raise UserError("--address belongs to a Ray cluster: give --on ray too")
    with needing("ray"):
        from metamixup.tables.ray_runner import RayRunner
    runner = RayRunner(address)
    return runner, runner.at_once


def print_grid(reproduction: "Reproduction") -> None:
    """Every cell with where its λ comes from, its number of runs, its published number and its expected cost."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from metamixup.tables.sentences import learning

    unit = reproduction.variant.unit
    table = Table(title=reproduction.frame().title, title_justify="left")
    for heading in ("cell", "policy", "runs", "published", "top-5", unit):
        table.add_column(heading, justify="left" if heading in ("cell", "policy") else "right")
    for cell in reproduction.cells:
        runs = sum(run.cell is cell for run in reproduction.runs)
        number = cell.published
        published = f"{number.error:.2f}{f' {number.mark}' if number.mark else ''}" if number else "–"
        top5 = f"{number.top5:.2f}" if number and number.top5 is not None else ""
        table.add_row(Text(cell.name), learning(cell), str(runs), published, top5, f"{runs * cell.cost:,.1f}")
    total = sum(run.cell.cost for run in reproduction.runs)
    paper = [cell.published for cell in reproduction.cells if cell.published]
    numbers = len(paper) + sum(number.top5 is not None for number in paper)
    of_paper = f", {len(paper)} of them the paper's with {numbers} numbers" if paper else ""
    console = Console(width=max(Console().width, 120), highlight=False)
    console.print(table)
    console.print(
        f"{len(reproduction.cells)} cells{of_paper}; {len(reproduction.runs)} runs; "
        f"expected cost: {total:,.0f} {unit}, an estimate"
    )
