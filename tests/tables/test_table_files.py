import json
from dataclasses import replace

import pytest

from metamixup.errors import UserError
from metamixup.tables.entry import Difference, Entry, to_json
from metamixup.tables.table_files import Frame, html_page, markdown_page, page_from, write_table


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


def test_a_page_is_made_from_the_stored_table_alone(tmp_path, entries):
    write_table(tmp_path, Frame("Title"), [replace(e, budget="2 epochs") for e in entries])
    page = page_from(tmp_path / "table.json", "A page", ("a note",))
    assert page.startswith("# A page\n")
    assert page.count("a/m: 2 epochs.") == 1
    assert "a note" in page
    (tmp_path / "table.json").write_text('{"no": "list"}')
    with pytest.raises(UserError, match="is no table"):
        page_from(tmp_path / "table.json", "A page", ())
