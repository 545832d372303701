import pytest
from compared import records, tasks, winning

from tools.comparison import figures, parts

TOLD = {
    "wrong_share": 0.4,
    "wrong_weight": [[[1, 0.4], [2, 0.1]]],
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
