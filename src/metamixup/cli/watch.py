"""`metamixup watch`: a terminal view of a run that trains in another process."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metamixup.cli.sparkline import sparkline

if TYPE_CHECKING:
    from rich.console import RenderableType

    from metamixup.analysis.records import Records


def watch(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    once: Annotated[
        bool, typer.Option("--once", help="Look once and leave; so it is where there is no terminal.")
    ] = False,
) -> None:
    """Follow a run until it ends: progress, curves, last numbers and how much is mixed. Ctrl-C leaves it running."""
    from rich.console import Console
    from rich.live import Live

    from metamixup.analysis.records import read_run

    console = Console(highlight=False)
    if once or not sys.stdout.isatty():
        console.print(view(read_run(run)))
        return
    with Live(view(read_run(run)), console=console, auto_refresh=False) as live:
        while state(found := read_run(run))[0] == "training":
            live.update(view(found), refresh=True)
            time.sleep(every)
        live.update(view(found), refresh=True)


def state(run: "Records") -> tuple[str, str]:
    """("training" | "finished" | "stopped", the same in words)."""
    from metamixup.engine.records.run_folder import RunFolder

    if run.summary:
        return "finished", "finished"
    process = RunFolder(run.path).holder()
    if process is not None:
        return "training", f"training, {process}"
    return "stopped", f"stopped; go on with: metamixup train --resume --out {shlex.quote(str(run.path))}"


def view(run: "Records") -> "RenderableType":
    from rich.console import Group
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from metamixup.engine.records.summary_check import is_number

    planned = run.setting("epochs")
    epochs, done = planned if isinstance(planned, int) else 0, len(run.metrics)
    title = (
        " · ".join(str(run.setting(key)) for key in ("data", "model", "method") if run.setting(key)) or run.path.name
    )
    head = Table.grid(padding=(0, 2))
    head.add_row(
        f"epoch {done}/{epochs or '?'}", ProgressBar(max(epochs, 1), done, width=30), _left(run, epochs - done)
    )
    curves = Table.grid(padding=(0, 2))
    for name, key in (("test error %", "test_error"), ("train error %", "train_error"), ("test NLL", "test_nll")):
        values = [v for v in run.column(key) if v is not None]
        if values:
            curves.add_row(name, sparkline(values), f"{values[-1]:.4g}", Text(f"lowest {min(values):.4g}", "dim"))
    body: list[Any] = [Text(state(run)[1]), head, curves]
    shares = [v for v in run.column("blended") if is_number(v)]
    counts = run.metrics[-1].get("lambda_histogram") if done else None
    if shares:
        curves.add_row("pairs blended", sparkline(shares, between=(0, 1)), f"{shares[-1]:.2f}", "")
    elif isinstance(counts, list) and counts and all(map(is_number, counts)):
        body.append(Text(f"λ 0 {sparkline(counts)} 1"))
    if not done:
        body.append(Text("no epoch recorded yet", "dim"))
    return Panel(Group(*body), title=Text(title), title_align="left", expand=False)


def _left(run: "Records", epochs: int) -> str:
    recent = [v for v in run.column("seconds")[-5:] if v is not None]
    if not recent or epochs <= 0 or run.summary:
        return ""
    seconds = round(epochs * sum(recent) / len(recent))
    return f"{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02} left"
