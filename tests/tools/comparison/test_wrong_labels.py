from metamixup.tables.recipe import load_recipe
from tools.comparison.tasks import plan_tasks
from tools.comparison.wrong_labels import rival_differences, wrong_labels

RECIPE = load_recipe("winners")


def lines(errors: dict[str, list[float]], task: str = "fashion-replace40") -> list[dict]:
    return [
        {"cell": f"{task}/preact-resnet8-tiny/{method}", "seed": seed, "test_error": error, "selection_error": error}
        | {"cpu_seconds": 13.0 if "trust" in method else 10.0}
        for method, found in errors.items()
        for seed, error in enumerate(found)
    ]


FOUND = {"mixup": [20.0, 20.0, 20.0], "trustmix": [14.0, 14.0, 14.3], "trustmix-alone": [15.0, 15.0, 15.0]}


def test_the_share_of_the_distance_to_all_labels_right_that_is_closed():
    text = wrong_labels(plan_tasks(RECIPE, lines(FOUND | {"mixup-right": [10.0, 10.0, 10.0]})))
    assert "| 59% | 50% | 3 |" in text
    assert "Closed in the mean: 59%, without a clean set 50%." in text


def test_without_the_bound_nothing_can_be_said():
    assert wrong_labels(plan_tasks(RECIPE, lines(FOUND))) == "Nothing has been run yet.\n"


def test_rivals_are_paired_by_seed_and_their_cost_is_told():
    text = rival_differences(plan_tasks(RECIPE, lines(FOUND | {"elr": [16.0, 16.1, 16.2]})))
    assert "**-2.00 [" in text
    assert "| … of TrustMix | 1.30 |" in text
    assert rival_differences(plan_tasks(RECIPE, lines(FOUND))) == "Nothing has been run yet.\n"
