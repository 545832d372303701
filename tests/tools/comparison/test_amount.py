from metamixup.tables.recipe import load_recipe
from tools.comparison.amount import FIXED, amount, best_fixed
from tools.comparison.tasks import plan_tasks

RECIPE = load_recipe("winners")


def lines(errors: dict[str, list[float]]) -> list[dict]:
    return [
        {"cell": f"digits/preact-resnet8/{method}", "seed": seed, "test_error": error}
        for method, found in errors.items()
        for seed, error in enumerate(found)
    ]


def test_the_default_stands_beside_the_best_fixed_share():
    found = lines({method: [3.0, 4.0 - share] for method, share in FIXED.items()} | {"trustmix": [2.0, 5.0]})
    found[-1]["blended"], found[-2]["blended"] = [[1, 0.0], [2, 1.0]], [[1, 0.2], [2, 0.4]]
    tasks = plan_tasks(RECIPE, found)
    assert "| Digits | 3.50 | 3.38 | 3.25 | 3.12 | **3.00** | 3.50 | +0.50 | 40% | 2 |" in amount(tasks)
    assert best_fixed(tasks[0]) == 1.0
    assert tasks[0].curve("trustmix", "blended") == {1: 0.1, 2: 0.7}


def test_a_task_without_all_of_them_is_left_out():
    tasks = plan_tasks(RECIPE, lines({"baseline": [1.0], "trustmix": [1.0]}))
    assert amount(tasks) == "Nothing has been run yet.\n"
    assert best_fixed(tasks[0]) is None
