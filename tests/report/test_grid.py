import json

import pytest
from invented import write_run

from metamixup.errors import UserError
from metamixup.report import write_page

CELLS = [
    {
        "cell": f"digits/cnn3/{method}",
        "method": method,
        "seeds": [0, 1, 2],
        "error": errors,
        "mean": sum(errors) / 3,
        "std": 0.2,
        "published": published,
        "provenance": "†" if method == "mixup" else "",
        "seconds": 12.0,
        "cost_ratio": 1.2,
        "paired_vs_mixup": difference,
    }
    for method, errors, published, difference in [
        ("baseline", [2.4, 2.2, 2.9], 2.1, {"diff": 0.3, "low": -0.2, "high": 0.8}),
        ("mixup", [2.1, 2.0, 2.5], 1.9, None),
        ("metamixup", [1.8, 1.6, 1.9], 1.6, {"diff": -0.43, "low": -0.6, "high": -0.2}),
        ("metamixup:reverse", [2.8, 2.6, 2.9], None, {"diff": 0.57, "low": 0.3, "high": 0.9}),
    ]
]


@pytest.fixture
def grid(tmp_path):
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid" / "table.json").write_text(json.dumps(CELLS))
    return tmp_path / "grid"


def test_the_table_stands_against_what_was_published(grid, tmp_path, opened):
    assert write_page(grid, tmp_path / "page.html") == []
    view = opened(tmp_path / "page.html")
    text = view.page.inner_text("table")
    for shown in ("1.77", "1.90†", "−0.43".replace("−", "-"), "[-0.60, -0.20]", "control", "1.20 ×"):
        assert shown in text
    assert view.page.locator(".interval.better").count() == 2  # a line and a dot
    assert view.page.locator(".interval.worse").count() == 2
    view.page.fill("#filter", "metamixup")
    assert view.page.locator("tbody tr:visible").count() == 2
    view.page.uncheck("#controls")
    assert view.page.locator("tbody tr:visible").count() == 1
    assert view.complaints == []
    assert view.left == []


def test_a_control_that_is_ahead_is_not_called_best(grid, tmp_path):
    control = {**CELLS[3], "error": [1.0, 1.1, 1.2], "mean": 1.1}
    (grid / "table.json").write_text(json.dumps([*CELLS[:3], control]))
    write_page(grid, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<b>1.77</b>" in text
    assert "<b>1.10</b>" not in text


def test_two_seeds_are_neither_best_nor_sure(grid, tmp_path):
    few = [{**cell, "seeds": [0, 1], "error": cell["error"][:2], "mean": sum(cell["error"][:2]) / 2} for cell in CELLS]
    (grid / "table.json").write_text(json.dumps(few))
    write_page(grid, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<b>" not in text
    assert 'class="interval better"' not in text


def test_a_grid_without_a_table_shows_the_runs_it_has(tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / "grid" / f"cell-{seed}", epochs=1, steps=1)
        summary = tmp_path / "grid" / f"cell-{seed}" / "summary.json"
        summary.write_text(json.dumps({**json.loads(summary.read_text()), "seed": seed}))
    missing = write_page(tmp_path / "grid", tmp_path / "page.html")
    assert "unfinished" in missing[0]
    assert "1 cells, 2 runs" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("text", ["", "{", "3", '{"cells": 1}'])
def test_a_damaged_table_is_told(grid, tmp_path, text):
    (grid / "table.json").write_text(text)
    with pytest.raises(UserError, match=r"table\.json"):
        write_page(grid, tmp_path / "page.html")


def test_cells_without_numbers_are_shown_and_counted(grid, tmp_path):
    odd = [{"cell": "a/b/c"}, {"cell": "a/b/<b>d</b>", "error": [], "mean": None, "paired_vs_mixup": 3}, 7]
    (grid / "table.json").write_text(json.dumps(CELLS + odd))
    missing = write_page(grid, tmp_path / "page.html")
    assert missing == ["1 entries of table.json are no cells", "2 cells have no run yet"]
    assert "<b>d</b>" not in (tmp_path / "page.html").read_text()
