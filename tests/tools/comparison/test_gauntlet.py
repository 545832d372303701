import pytest

from metamixup.tables.gauntlet import TASKS
from metamixup.tables.recipe import load_recipe
from tools.comparison.gauntlet import METHODS, behind, blended_at_most, gauntlet, ranks, summary
from tools.comparison.tasks import plan_tasks

RECIPE = load_recipe("gauntlet")


def lines(place: int, errors: dict[str, list[float]]) -> list[dict]:
    column = RECIPE.full.columns[place]
    return [
        {"cell": f"{column.name}/{column.model}/{method}", "seed": seed, "test_error": error}
        for method, found in errors.items()
        for seed, error in enumerate(found)
    ]


def test_the_better_of_baseline_and_mixup_is_what_the_default_is_held_against():
    (task, other, *_) = plan_tasks(
        RECIPE, lines(0, {"baseline": [5.0, 7.0], "mixup": [4.0, 6.0], "mixup+settle": [1.0, 1.0], "trustmix": [6, 5]})
    )
    assert behind(task) == pytest.approx(0.5)
    assert behind(other) is None
    assert ranks(task, METHODS) == {"mixup+settle": 1.0, "mixup": 2.0, "trustmix": 3.0, "baseline": 4.0}


def test_the_largest_share_that_was_blended_is_told():
    found = lines(0, {"mixup": [4.0, 4.0], "trustmix": [4.0, 4.0]})
    for record, most in zip(found[2:], (0.2, 0.4), strict=True):
        record["blended"] = [[1, 0.0], [2, most], [3, 0.1]]
    (task, *_) = plan_tasks(RECIPE, found)
    assert blended_at_most(task) == pytest.approx(0.3)


def test_equal_errors_share_a_rank():
    (task, *_) = plan_tasks(RECIPE, lines(0, {"baseline": [2.0], "mixup": [1.0], "trustmix": [1.0]}))
    assert ranks(task, METHODS) == {"baseline": 3.0, "mixup": 1.5, "trustmix": 1.5}


def test_the_page_tells_tasks_that_were_run_and_how_the_default_stands():
    found = lines(0, {"baseline": [5.0], "mixup": [4.0], "trustmix": [6.5]}) + lines(1, {"baseline": [5.0]})
    found += lines(2, {"baseline": [5.0], "mixup": [4.0], "trustmix": [3.5]})
    found += lines(TASKS, {"baseline": [5.0], "mixup": [4.0], "trustmix": [3.0]})
    text = gauntlet(plan_tasks(RECIPE, found))
    assert "clean 00" in text
    assert "clean 01" not in text
    assert "blended | seeds |" in text
    assert "| +2.50 | – | 1 |" in text
    assert "Clean tasks: to the better of baseline and MixUp +1.00 points in the mean, +2.50 at worst" in text
    assert "behind it on 1 of 2 tasks, by more than one point on 1." in text
    assert "Imperfect tasks: to the better of baseline and MixUp -1.00 points" in text
    assert gauntlet(plan_tasks(RECIPE, [])) == "Nothing has been run yet.\n"


def test_the_summary_has_means_and_ranks_of_methods_that_were_run_on_all_tasks_of_a_kind():
    found = lines(0, {"baseline": [5.0], "mixup": [4.0], "trustmix": [3.0]})
    found += lines(2, {"baseline": [1.0], "mixup": [4.0], "trustmix": [2.0]})
    found += lines(TASKS, {"baseline": [5.0], "mixup": [4.0], "mixup+settle": [3.5], "trustmix": [3.0]})
    text = summary(plan_tasks(RECIPE, found))
    assert "| Baseline | 3.00 | 2.00 | 5.00 | 4.00 |" in text
    assert "| TrustMix | 2.50 | 1.50 | 3.00 | 1.00 |" in text
    assert "| MixUp that settles | – | – | 3.50 | 2.00 |" in text
    assert "Means over 2 clean and 1 imperfect tasks, seeds a task: 1." in text
    assert summary(plan_tasks(RECIPE, [])) == "Nothing has been run yet.\n"
