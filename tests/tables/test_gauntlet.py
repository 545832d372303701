import pytest

from metamixup.settings.resolve import resolve
from metamixup.tables.cells import Choice, plan_cells, plan_runs
from metamixup.tables.gauntlet import FEWEST, IMAGES, TASKS, draw_task, known_gauntlets
from metamixup.tables.recipe import load_recipe


@pytest.mark.parametrize("half", known_gauntlets())
def test_each_half_has_as_many_clean_as_imperfect_tasks_and_all_its_runs_resolve(half, tmp_path):
    recipe = load_recipe(half)
    imperfect = ["corrupt" in column.settings for column in recipe.full.columns]
    assert (imperfect.count(False), imperfect.count(True)) == (TASKS, TASKS)
    cells = plan_cells(recipe, Choice(controls=True))
    assert len(plan_runs(cells, range(2), tmp_path)) == 2 * 6 * 2 * TASKS
    for cell in cells:
        settings = resolve(cell.given)
        assert FEWEST <= settings.subset <= IMAGES[settings.data]
        assert 16 <= settings.batch_size <= 256
        assert settings.meta.in_train, "every method trains on the same images"
        assert cell.cost <= 40


def test_a_task_is_a_function_of_its_seed_and_the_halves_differ():
    assert draw_task(5, "clean", 3) == draw_task(5, "clean", 3)
    assert draw_task(5, "clean", 3) != draw_task(6, "clean", 3)
    choosing, *_, sealed = (load_recipe(half).full.columns for half in known_gauntlets())
    assert not any(column in choosing for column in sealed)


def test_tasks_are_of_many_kinds():
    drawn = [draw_task(9, "clean", k) for k in range(200)]
    kinds = {(c.data, c.model, c.settings["optimizer"]["name"], c.settings["optimizer"]["schedule"]) for c in drawn}
    assert len(kinds) > 40
    sizes = sorted(c.settings["subset"] for c in drawn)
    assert sizes[20] < 600
    assert sizes[-5] > 10_000
