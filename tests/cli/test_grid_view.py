import pytest
from rich.console import Console

from metamixup.cli.grid_view import GridView, duration, live_table
from metamixup.tables.cells import Choice
from metamixup.tables.grid import Grid
from metamixup.tables.recipe import load_recipe
from metamixup.tables.reproduce import Reproduction


@pytest.fixture
def shown(tmp_path):
    choice = Choice(quick=True, only=("digits/*",), seeds=2)
    reproduction = Reproduction(load_recipe("table1"), choice, tmp_path)
    grid = Grid(reproduction.runs, runner=None, jobs=2)
    first, second, third = (grid.states[run] for run in grid.runs[:3])
    first.status, first.seconds, first.summary = "done", 9.0, {"test_error": 1.5, "train_seconds": 8.0}
    second.status, second.share = "running", 0.25
    third.status, third.message, third.seconds = "failed", "the loss became nan", 1.0
    return reproduction, grid


def text(table) -> str:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table)
    console.file.close()
    return console.export_text()


def test_the_live_table_shows_what_runs_what_failed_and_the_time_left(shown):
    told = text(live_table(*shown, height=50))
    assert "2 of 22 runs, 1 failed, about" in told
    assert "1/2 running 25 %" in told
    assert "0/2 failed" in told
    assert "1.50" in told
    assert "trustmix:shuffle" in told


def test_it_fits_the_screen_and_keeps_to_what_runs(shown):
    told = text(live_table(*shown, height=3))
    assert told.count("digits/cnn3/") == 3
    assert "running" in told


def test_elsewhere_each_ended_run_is_one_line_told_once(shown, capsys):
    reproduction, grid = shown
    with GridView(reproduction) as view:
        view(grid)
        view(grid)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "digits/cnn3/baseline seed 0: 1.50 % (9.0 s)" in lines[0]
    assert "failed: the loss became nan" in lines[1]


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (89, "89 s"), (600, "10 min"), (7200, "2.0 h")])
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words
