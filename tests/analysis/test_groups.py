from pathlib import Path

from metamixup.analysis.groups import by_label, mean_curve
from metamixup.analysis.records import Records


def run(**settings):
    alpha = settings.pop("alpha", 1.0)
    return Records(Path("runs/x"), settings={**settings, "policy": {"alpha": alpha}})


def test_seeds_of_a_method_are_one_group():
    groups = by_label([run(method="mixup", seed=0), run(method="mixup", seed=1), run(method="trustmix", seed=0)])
    assert {name: len(own) for name, own in groups.items()} == {"mixup": 2, "trustmix": 1}


def test_what_differs_within_a_method_is_said():
    groups = by_label([run(method="mixup", alpha=1.0), run(method="mixup", alpha=0.2), run(method="baseline")])
    assert set(groups) == {"mixup (1.0)", "mixup (0.2)", "baseline"}


def test_a_run_without_settings_goes_by_its_folder():
    assert set(by_label([Records(Path("runs/lost"))])) == {"lost"}


def test_curves_end_with_the_shortest_run_and_skip_what_one_lacks():
    means, low, high = mean_curve([[1.0, None, 3.0, 9.0], [2.0, 2.0, 5.0]])
    assert means == [1.5, None, 4.0]
    assert (low[2], high[2]) == (3.0, 5.0)
