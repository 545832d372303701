import copy

import pytest

from metamixup.cli import run
from metamixup.cli.bench import joined
from tools.aims import aims
from tools.cost_page import markdown, write

ROW = {"ratio": 1.5, "low": 1.4, "high": 1.6, "milliseconds": 3.0}
RESULT = {
    "machine": {"torch": "2", "threads": 1, "cores": 2},
    "models": {"cnn3": {"batch": 128, "threads": 2, "matmul_share": 0.5, "rows": {"mixup": ROW, "head": ROW}}},
    "quality": {"early": {"head": {"cosine": 0.5, "meta": 0.01, "held_out": 0.002}}},
    "growth": {"classes": {"cnn3 batch 128 classes 10": {"head": 1.5}}},
}


def test_the_page_shows_each_row_and_a_plot(tmp_path):
    write(RESULT, tmp_path / "cost.md")
    text = (tmp_path / "cost.md").read_text()
    assert "| head | 1.50 | 1.40–1.60 |" in text
    assert "| head | 0.50 | 0.0100 | 0.0020 |" in text
    assert (tmp_path / "cost.svg").stat().st_size > 1000
    assert "2 threads, the plain step reaches 50% of the machine's matrix-product rate." in text


def test_measurements_of_several_runs_are_joined():
    other = {"machine": {"threads": 2}, "models": {"wrn": {"batch": 32, "rows": {"mixup": ROW}}}}
    whole = joined([RESULT, other])
    assert list(whole["models"]) == ["cnn3", "wrn"]
    assert whole["machine"] == {"torch": "2", "threads": 2, "cores": 2}
    assert "## wrn, batch 32" in markdown(whole)


def test_aims_are_told_as_met_or_missed():
    rows = dict.fromkeys(("plain", "mixup", "exact", "head", "default", "higher", "plain, compiled"), ROW)
    worth = {name: {"cosine": 1.0, "meta": 0.01, "held_out": 0.002} for name in ("exact", "head", "less mixing")}
    many = {"cnn3 batch 128 classes 1000": {"mixup": 1.0, "trust alone": 0.02}}
    memory = {"cnn3": {"plain": 1, "head": 1.2}, "cnn3, 1000 classes": {"with trust": 1.2}}
    result = copy.deepcopy({**RESULT, "memory": memory, "quality": {"early": worth}, "growth": {"classes": many}})
    result["models"]["cnn3"]["rows"] = rows
    result["models"]["wrn-28-2"] = {"batch": 32, "matmul_share": 0.7, "rows": {"mixup": ROW, "head": ROW}}
    met = {aim.aim.split(":")[0] + ":" + aim.aim.split("`")[-1]: aim.met for aim in aims(result)}
    assert met["cnn3: is faster than higher"] is False
    assert met["cnn3: costs at most 1.8 MixUp steps"] is True
    assert met["cnn3: costs at most 1.25 MixUp steps"] is False
    assert met["cnn3: makes a step 1.3 times as fast"] is False
    assert met["early:'s decrease on the meta batch"] is True
    assert met["early: lowers the loss on held-out images more than mixing less does"] is False
    assert met["cnn3: needs at most 1.3 times plain training's memory"] is True
    text = markdown(result)
    assert "| wrn-28-2: the plain step reaches 60 % of the matrix-product rate | 70% | yes |" in text
    assert "| cnn3, 1000 classes: the policy adds under 5 % to memory | +20% | **no** |" in text
    assert "| 1,000 classes: the policy adds under 3 % to a step | +2.0% | yes |" in text
    assert "| cnn3 batch 128 classes 1000 | 1.00 | 0.02 |" in text


def test_an_exact_direction_that_gains_nothing_is_no_aim_met():
    worth = {name: {"cosine": 1.0, "meta": 0.0, "held_out": 0.0} for name in ("exact", "head", "less mixing")}
    result = {**RESULT, "quality": {"early": worth}, "growth": {"classes": {}}}
    assert [aim.met for aim in aims(result) if "80 %" in aim.aim] == [False]
    assert "0.0000 against 0.0000" in markdown(result)


@pytest.mark.parametrize("text", [None, "{", "[]", "{}"])
def test_a_source_that_is_none_is_told(tmp_path, capsys, text):
    if text is not None:
        (tmp_path / "bench.json").write_text(text)
    assert run(["bench", "--from", str(tmp_path / "bench.json")]) == 2
    assert "is no JSON of `metamixup bench --json`" in capsys.readouterr().err
