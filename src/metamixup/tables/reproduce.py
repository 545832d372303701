"""A table from its recipe to its files: plan, check everything, run the grid under a lock, write what came out."""

from collections.abc import Callable, Sequence
from pathlib import Path

from metamixup.engine.interrupt import listening
from metamixup.engine.records.run_folder import RunFolder
from metamixup.tables.cells import Cell, Choice, Run, chosen_variant, plan_cells, plan_runs
from metamixup.tables.check import refuse_problems
from metamixup.tables.entry import Entry
from metamixup.tables.grid import Grid, State
from metamixup.tables.older_version import run_of_older_version
from metamixup.tables.recipe import Recipe
from metamixup.tables.records import Record, run_record, write_records
from metamixup.tables.runner import Runner
from metamixup.tables.sentences import budgets, meta_images
from metamixup.tables.table import make_table
from metamixup.tables.table_files import Frame, write_table

VARIANTS = {"": "", "cpu": ", with all images on CPUs"}


class Reproduction:
    """A choice of a recipe's cells, to be run in one folder."""

    def __init__(self, recipe: Recipe, choice: Choice, out: Path):
        self.recipe, self.choice, self.out = recipe, choice, out
        self.variant = chosen_variant(recipe, choice)
        self.cells: list[Cell] = plan_cells(recipe, choice)
        self.runs: list[Run] = plan_runs(self.cells, range(choice.seeds) if choice.seeds else None, out)
        self._records: dict[Run, Record] = {}  # each is made once: it reads the run's own records

    def go(self, runner: Runner, jobs: int, watch: Callable[[Grid], None]) -> Grid:
        """Run what is not finished. The table's files are written whenever a run has ended, so that a killed grid
        leaves the table of what it has done."""
        refuse_problems(self.runs)
        with RunFolder(self.out).locked(), listening() as interrupt:
            grid, written = Grid(self.runs, runner, jobs), -1

            def look() -> None:
                nonlocal written
                if interrupt.asked:
                    grid.stop()
                ended = len(self.runs) - grid.count("waiting", "running")
                if ended != written:
                    self.write(grid)
                    written = ended
                watch(grid)

            try:
                look()
                grid.go(look)
            finally:
                runner.close()
            return grid

    def entries(self, grid: Grid) -> list[Entry]:
        summaries = {
            (run.cell.name, run.seed): state.summary
            for run, state in grid.states.items()
            if run.shown and state.summary is not None
        }
        return make_table(self.cells, summaries, self.recipe.reference, self.recipe.baseline)

    def records(self, grid: Grid) -> list[Record]:
        for run, state in grid.states.items():
            if run.shown and state.summary is not None and run not in self._records:
                self._records[run] = run_record(run, state.summary)
        return list(self._records.values())

    def write(self, grid: Grid) -> None:
        write_table(self.out, self.frame(failures(grid)), self.entries(grid))
        planned = [(run.cell.name, run.seed) for run in self.runs if run.shown]
        write_records(self.out / "records.jsonl", self.records(grid), planned)

    def collect(self, runner: Runner) -> Grid:
        """Write the files from what is finished and run nothing, also while another process runs the grid. Rivals' runs
        of an earlier version count."""
        grid = Grid(self.runs, runner, 1)
        for run, state in grid.states.items():
            if state.summary is None and (folder := run_of_older_version(run)) is not None:
                grid.states[run] = State("skipped", 1.0, summary=RunFolder(folder).read_summary())
        self.write(grid)
        return grid

    def frame(self, more: Sequence[str] = ()) -> Frame:
        note = [self.variant.note] if self.variant.note else []
        marked = {cell.published.mark for cell in self.cells if cell.published}
        return Frame(
            title=self.recipe.title + (", quick variant" if self.choice.quick else VARIANTS[self.choice.budget]),
            remarks=(*note, *budgets(self.cells), meta_images(self.cells), *more),
            marks=tuple(item for item in self.recipe.marks.items() if item[0] in marked),
            reference=self.recipe.reference,
        )


def failures(grid: Grid) -> list[str]:
    return [
        f"Failed: {run.cell.name}, seed {run.seed}: {state.message}"
        for run, state in grid.states.items()
        if state.status == "failed"
    ]
