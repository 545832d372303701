import pytest

from metamixup.errors import UserError
from metamixup.tables.cells import Choice, plan_cells, plan_runs
from metamixup.tables.check import refuse_problems
from metamixup.tables.recipe import Recipe


def runs(tmp_path, *columns: dict, rows: dict | None = None, seeds: int = 2):
    part = {"columns": list(columns), "base": {"epochs": 1, "batch_size": 32}}
    recipe = Recipe.model_validate({"title": "t", "rows": rows or {"baseline": {}}, "full": part, "quick": part})
    return plan_runs(plan_cells(recipe, Choice(controls=True)), range(seeds), tmp_path)


def test_a_good_grid_passes(tmp_path):
    rows = {"baseline": {}, "trustmix": {"controls": ["reverse", "replay"]}}
    refuse_problems(runs(tmp_path, {"data": "digits", "model": "cnn3"}, rows=rows))


def test_all_problems_are_told_at_once_and_each_once(tmp_path, monkeypatch):
    monkeypatch.delenv("METAMIXUP_DATA", raising=False)
    columns = [
        {"data": "svhn", "model": "cnn3"},
        {"data": "digits", "model": "cnn33"},
        {"data": "digits", "model": "cnn3", "name": "typo", "settings": {"epohcs": 3}},
        {"data": "digits", "model": "cnn3", "name": "value", "settings": {"batch_size": 0}},
        {"data": "digits", "model": "cnn3", "name": "meta", "settings": {"meta": {"per_class": 500}}},
        {"data": "digits", "model": "cnn3", "name": "subset", "settings": {"subset": 99999}},
        {"data": "digits", "model": "wrn-11-1"},
    ]
    with pytest.raises(UserError) as caught:
        refuse_problems(runs(tmp_path, *columns))
    told = str(caught.value)
    assert told.startswith("nothing was started, since 7 problem(s)")
    for part in ("svhn: its files were not found", "did you mean 'cnn3'", "did you mean 'epochs'", "batch_size"):
        assert told.count(part) == 1
    assert "too few for 500 in the meta set" in told
    assert "only 13" in told
    assert "6n + 4" in told
    assert not list(tmp_path.iterdir())


def test_an_unknown_method_is_a_problem_of_its_row(tmp_path):
    with pytest.raises(UserError, match="digits/cnn3/mine: unknown method 'mixupp'; did you mean 'mixup'"):
        refuse_problems(runs(tmp_path, {"data": "digits", "model": "cnn3"}, rows={"mine": {"method": "mixupp"}}))


def told(tmp_path, *columns: dict, rows: dict | None = None) -> str:
    with pytest.raises(UserError) as caught:
        refuse_problems(runs(tmp_path, *columns, rows=rows))
    return str(caught.value)


def test_start_weights_are_looked_for(tmp_path):
    missing = {"settings": {"start": {"weights": str(tmp_path / "none.safetensors")}}}
    assert "none.safetensors" in told(tmp_path, {"data": "digits", "model": "cnn3"}, rows={"baseline": missing})


def test_one_method_does_not_answer_for_another(tmp_path):
    rows = {"baseline": {}, "pseudo-label": {}}
    text = told(tmp_path, {"data": "digits", "model": "cnn3"}, rows=rows)
    assert "digits/cnn3/pseudo-label: method 'pseudo-label' needs unlabelled images" in text


def test_one_selection_set_does_not_answer_for_another(tmp_path):
    columns = [
        {"data": "digits", "model": "cnn3", "name": f"chosen{size}", "settings": {"selection": size}}
        for size in (100, 100_000)
    ]
    assert "chosen100000/cnn3/baseline" in told(tmp_path, *columns)


def test_several_problems_of_one_run_are_told_at_once(tmp_path):
    settings = {"start": {"freeze": ["nowhere"]}, "augment": {"shift": 1, "crop": 1}}
    text = told(tmp_path, {"data": "digits", "model": "cnn3", "settings": settings})
    assert text.startswith("nothing was started, since 2 problem(s)")
    assert "nowhere" in text
    assert "exclude each other" in text
