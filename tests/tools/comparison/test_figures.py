import json

import pytest
from compared import records, tasks, winning

from tools.comparison import figures, parts

TOLD = {
    "wrong_share": 0.4,
    "trust_auroc": [[[1, 0.5], [2, 0.9]]],
    "trust_right": [[[1, 1.0], [2, 0.95]]],
    "trust_wrong": [[[1, 1.0], [2, 0.3]]],
    "mixing_same": [[[1, 0.5], [2, 0.6]]],
    "mixing_other": [[[1, 0.5], [2, None]]],
    "mixing_pairs": [[[0.5, None], [0.25, 0.5]]],
}


def test_all_figures_are_known_to_the_parts():
    assert set(figures.FIGURES) == set(parts.FIGURES)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_of_all_and_of_nothing(name):
    blended = records("clean0", "trustmix", [1.0], blended=[[[1, 0.0], [2, 0.7]]])
    found = tasks(winning("clean0") + blended + records("noisy0", "trustmix", [1.0], **TOLD))
    drawn = figures.as_svg(figures.FIGURES[name], found)
    assert ("Digits" if name == "figure-amount" else "40 % of labels replaced") in drawn
    assert figures.as_svg(figures.FIGURES[name], found) == drawn
    assert "<svg" in figures.as_svg(figures.FIGURES[name], tasks([]))


def test_a_figure_of_what_no_record_tells_is_not_drawn(tmp_path):
    records_file = tmp_path / "winners.jsonl"
    line = {"cell": "fashion-replace40/preact-resnet8-tiny/trustmix", "seed": 0, "test_error": 17.0}
    records_file.write_text(json.dumps(line) + "\n")
    assert parts.make_part(records_file, "figure-detection").text == "Nothing of it has been recorded yet.\n"
    assert not parts.make_part(records_file, "figure-detection").file
    records_file.write_text(json.dumps({**line, "trust_auroc": [[1, 0.5], [2, 0.9]]}) + "\n")
    assert parts.make_part(records_file, "figure-detection").file == "winners-detection.svg"
