"""What people see of a grid: a live table on a terminal, a line for each ended run elsewhere."""

import sys
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from metamixup.tables.grid import Grid
from metamixup.tables.reproduce import Reproduction
from metamixup.tables.table_files import difference_text, published_text, spread_text


class GridView:
    """Use as a context manager; call it with the grid now and then."""

    def __init__(self, reproduction: Reproduction):
        self.reproduction, self.console = reproduction, Console(highlight=False)
        live = sys.stdout.isatty()
        self.live = Live(console=self.console, refresh_per_second=4, vertical_overflow="crop") if live else None
        self.told: set[Any] = set()

    def __enter__(self) -> "GridView":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, grid: Grid) -> None:
        if self.live is not None:
            self.live.update(live_table(self.reproduction, grid, self.console.height - 6))
            return
        for run, state in grid.states.items():
            if state.status not in ("waiting", "running", "skipped") and run not in self.told:
                self.told.add(run)
                what = f"{state.summary['test_error']:.2f} %" if state.summary else f"{state.status}: {state.message}"
                place = f"[{len(self.told) + grid.count('skipped')}/{len(grid.runs)}]"
                name = f"{run.cell.name} seed {run.seed}"
                print(f"{place} {name}: {what} ({state.seconds:.1f} s){left(grid)}", flush=True)


def live_table(reproduction: Reproduction, grid: Grid, height: int) -> Table:
    """The cells around the one that is being run, as many as fit on the screen."""
    entries, states = reproduction.entries(grid), [run_states(grid, cell.name) for cell in reproduction.cells]
    first = next((k for k, s in enumerate(states) if "running" in s), 0)
    start = max(0, min(first - 3, len(entries) - height))
    ended = len(grid.runs) - grid.count("waiting", "running")
    failed = f", {grid.count('failed')} failed" if grid.count("failed") else ""
    table = Table(
        title=f"{reproduction.frame().title}: {ended} of {len(grid.runs)} runs{failed}{left(grid)}",
        title_justify="left",
    )
    for name in ("cell", "runs", "error %", "published", "− MixUp"):
        table.add_column(name, justify="left" if name == "cell" else "right")
    for entry, state in list(zip(entries, states, strict=True))[start : start + height]:
        mean = spread_text(entry.mean, None)
        cell = Text(f"{entry.task}/{entry.name}")
        table.add_row(cell, state, mean, published_text(entry), difference_text(entry.difference))
    return table


def run_states(grid: Grid, cell: str) -> str:
    """`2/3`, `2/3 running 45 %` or `2/3 failed`."""
    mine = [state for run, state in grid.states.items() if run.cell.name == cell and run.shown]
    running = [f" running {100 * s.share:.0f} %" for s in mine if s.status == "running"]
    failed = " failed" if any(s.status == "failed" for s in mine) else ""
    return f"{sum(s.status in ('done', 'skipped') for s in mine)}/{len(mine)}{''.join(running)}{failed}"


def left(grid: Grid) -> str:
    seconds = grid.seconds_left
    return "" if not seconds else f", about {duration(seconds)} left"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
