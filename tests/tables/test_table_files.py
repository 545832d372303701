import json
from dataclasses import replace

import pytest

from metamixup.errors import UserError
from metamixup.tables.entry import Difference, Entry, to_json
from metamixup.tables.table_files import (
    Frame,
    csv_table,
    html_page,
    latex_tables,
    markdown_page,
    read_table,
    write_table,
)


def entry(task: str, method: str, mean: float | None, **changes) -> Entry:
    base = {
        "label": "Method",
        "seeds": (0, 1, 2),
        "errors": (1.0, 2.0, 1.5),
        "mean": mean,
        "std": 0.5,
        "top5": 0.25,
        "seconds": 12.34,
        "cost_ratio": 1.2,
        "difference": Difference(-0.5, -1.0, 0.25, 3),
    }
    return Entry(task, method, **{**base, **changes})


@pytest.fixture
def entries() -> list[Entry]:
    return [
        entry("a/m", "x", 2.0, published=1.5, provenance="‡", published_top5=0.5),
        entry("a/m", "y", 1.0, label="<b>|y|</b>"),
        entry("a/m", "y", 0.5, control="reverse"),
        entry("b/m", "x", None, std=None, seconds=None, cost_ratio=None, difference=None, seeds=(), errors=()),
    ]


def test_markdown_has_a_section_a_column_and_the_best_in_bold(entries):
    text = markdown_page(Frame("Title", ("a remark",), (("‡", "from elsewhere"),)), entries)
    assert "## a/m\n" in text
    assert "## b/m\n" in text
    assert "**1.00 ± 0.50**" in text
    assert "**0.50" not in text  # a control is no contender
    assert "2.00 ± 0.50 / 0.25 | 1.50 / 0.50 ‡ | -0.50 [-1.00, +0.25] | 3 | 12.3 | 1.20" in text
    assert "a remark" in text
    assert "‡ from elsewhere." in text
    assert "<b>\\|y\\|</b>" in text


def test_html_escapes_what_it_is_given_and_asks_nothing_of_the_network(entries):
    page = html_page(Frame("A <title>"), entries)
    assert "A &lt;title&gt;" in page
    assert "&lt;b&gt;|y|&lt;/b&gt;" in page
    assert "http" not in page
    assert page.count("<table>") == 2


def test_the_files_are_written_and_json_is_a_list_of_cells(tmp_path, entries):
    write_table(tmp_path / "new", Frame("Title"), entries)
    assert json.loads((tmp_path / "new" / "table.json").read_text()) == [to_json(entry) for entry in entries]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["table.html", "table.json", "table.md"]


def test_a_stored_table_is_read_back_and_anything_else_refused(tmp_path, entries):
    write_table(tmp_path, Frame("Title"), [replace(e, budget="2 epochs") for e in entries])
    found, unread = read_table(tmp_path / "table.json")
    assert (len(found), unread, found[0].budget) == (4, 0, "2 epochs")
    (tmp_path / "table.json").write_text('{"no": "list"}')
    with pytest.raises(UserError, match="is no table"):
        read_table(tmp_path / "table.json")


def test_csv_names_the_task_of_each_row_and_latex_has_a_table_a_task(entries):
    rows = csv_table(Frame("Title"), entries).splitlines()
    assert rows[0].startswith("task,method,policy,error %")
    assert [row.partition(",")[0] for row in rows[1:]] == ["a/m", "a/m", "a/m", "b/m"]
    assert latex_tables(Frame("Title"), entries).count("\\begin{tabular}") == 2
