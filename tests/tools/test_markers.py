"""Tables of documents, made from records."""

import json

import pytest
from documents import ROOT

from metamixup import __version__
from metamixup.errors import UserError
from metamixup.tables.cells import Choice, plan_cells
from metamixup.tables.recipe import load_recipe
from tools.markers import filled, main


def entry(task: str, method: str, label: str, errors: list[float]) -> dict:
    mean, std = (sum(errors) / len(errors), 0.25) if errors else (None, None)
    seeds = list(range(len(errors)))
    found = {"method": method, "label": label, "seeds": seeds, "error": errors, "mean": mean, "std": std}
    return {"cell": f"{task}/{method}", **found, **({"learning": "beta"} if method == "mixup" else {})}


ENTRIES = [
    entry("digits/cnn3", "mixup", "MixUp", [2.0, 2.5, 3.0]),
    entry("digits/cnn3", "metamixup", "MetaMixUp", [1.0, 1.5, 2.0]),
    entry("digits/cnn3", "metamixup:reverse", "reversed", [1.0, 1.0, 1.0]),
    entry("mnist/cnn3", "mixup", "MixUp", [0.5, 0.5]),
    entry("mnist/cnn3", "metamixup", "MetaMixUp", []),
]
TABLE = """| test error, % | policy | digits/cnn3 | mnist/cnn3 |
| --- | --- | ---: | ---: |
| MixUp | beta | 2.50 ± 0.25 | 0.50 ± 0.25 |
| MetaMixUp | – | **1.50 ± 0.25** | – |
"""


@pytest.fixture
def document(tmp_path):
    (tmp_path / "table.json").write_text(json.dumps(ENTRIES))
    path = tmp_path / "page.md"
    table = "<!-- table {} -->\n{}<!-- /table -->\n"
    path.write_text("before\n" + table.format("table.json", "old\n") + table.format("none.json", ""))
    return path


def test_fills_what_has_records_and_leaves_the_rest(document, capsys):
    assert main(["--check", str(document)]) == 1
    assert "old" in document.read_text()
    assert main(["--any-version", str(document)]) == 0
    text = document.read_text()
    assert f"before\n<!-- table table.json -->\n{TABLE}<!-- /table -->\n" in text
    assert text.endswith("<!-- table none.json -->\n<!-- /table -->\n")
    assert main(["--check", str(document)]) == 0


def test_records_of_another_version_are_refused_unless_told(document, capsys):
    assert main([str(document)]) == 1
    assert "table.json: made by version unknown" in capsys.readouterr().out
    assert "old" in document.read_text()
    for version, code in (("0.0.1", 1), (__version__, 0)):
        (document.parent / "table.json").write_text(json.dumps([{**e, "versions": [version]} for e in ENTRIES]))
        assert main([str(document)]) == code


def test_records_that_are_none(document):
    (document.parent / "table.json").write_text('{"cell": 1}')
    with pytest.raises(UserError, match="holds no list of cells"):
        filled(document)


def test_parts_of_a_comparison_are_filled_and_its_figures_drawn(tmp_path):
    records, page = tmp_path / "winners.jsonl", tmp_path / "page.md"
    page.write_text(
        "Prose stays.\n<!-- table winners.jsonl summary -->\n<!-- /table -->\n\n"
        "<!-- table winners.jsonl figure-differences -->\n<!-- /table -->\nMore of it.\n"
    )
    assert main(["--check", str(page)]) == 0  # no records yet
    planned = plan_cells(load_recipe("winners"), Choice())
    cell = next(cell.name for cell in planned if (cell.column, cell.row) == ("digits", "trustmix"))
    records.write_text(json.dumps({"cell": cell, "seed": 0, "test_error": 1.5, "version": __version__}))
    assert main(["--check", str(page)]) == 1
    assert not (tmp_path / "winners-differences.svg").exists()
    assert main([str(page)]) == 0
    text = page.read_text()
    assert text.startswith("Prose stays.\n")
    assert text.endswith("More of it.\n")
    assert "| Digits | missing | missing | missing | 1.50 | missing |" in text
    assert "(winners-differences.svg)" in text
    assert (tmp_path / "winners-differences.svg").read_text().startswith("<?xml")
    records.write_text(json.dumps({"cell": cell, "seed": 0, "test_error": 2.5}))
    assert main(["--check", str(page)]) == 1


def test_a_part_that_does_not_exist(tmp_path):
    (tmp_path / "winners.jsonl").write_text("")
    (tmp_path / "page.md").write_text("<!-- table winners.jsonl verdicts -->\n<!-- /table -->\n")
    with pytest.raises(UserError, match="did you mean 'verdict'"):
        filled(tmp_path / "page.md")


def test_the_projects_own_documents_are_not_behind():
    documents = [ROOT / "README.md", *sorted((ROOT / "docs" / "results").glob("*.md"))]
    assert main(["--check", *map(str, documents)]) == 0
