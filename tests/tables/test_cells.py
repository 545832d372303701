from pathlib import Path

import pytest

from metamixup.errors import UserError
from metamixup.tables.cells import Choice, learns, plan_cells, plan_runs
from metamixup.tables.recipe import Recipe, load_recipe

RECIPE = Recipe.model_validate(
    {
        "title": "toy",
        "rows": {
            "baseline": {},
            "mixup": {"settings": {"policy": {"alpha": 0.4}}},
            "trustmix": {"controls": ["reverse", "replay"], "cost": 2},
            "other": {"method": "metamixup", "beside": "trustmix"},
            "extra": {"method": "cutmix"},
        },
        "full": {
            "base": {"epochs": 2, "batch_size": 32},
            "columns": [
                {"data": "digits", "model": "cnn3", "published": {"baseline": 1, "trustmix": 2}, "cost": 3},
                {
                    "data": "digits",
                    "name": "digits-50",
                    "model": "cnn-bn",
                    "published": {"mixup": 3},
                    "settings": {"epochs": 5},
                },
            ],
        },
        "quick": {"columns": [{"data": "digits", "model": "cnn3"}]},
    }
)


def names(**choice) -> list[str]:
    return [cell.name for cell in plan_cells(RECIPE, Choice(**choice))]


def test_a_column_has_its_published_rows_and_what_stands_beside_them():
    assert names() == [
        "digits/cnn3/baseline",
        "digits/cnn3/trustmix",
        "digits/cnn3/other",
        "digits-50/cnn-bn/mixup",
    ]


def test_controls_are_rows_of_their_own():
    assert names(controls=True, only=("digits/*",)) == [
        "digits/cnn3/baseline",
        "digits/cnn3/trustmix",
        "digits/cnn3/trustmix:reverse",
        "digits/cnn3/trustmix:replay",
        "digits/cnn3/other",
    ]


def test_a_column_without_numbers_has_all_rows():
    assert len(names(quick=True)) == len(RECIPE.rows)


def test_methods_that_are_asked_for_run_in_every_column():
    assert names(methods=("extra", "trustmix:reverse"), only=("*cnn-bn*",)) == [
        "digits-50/cnn-bn/trustmix:reverse",
        "digits-50/cnn-bn/extra",
    ]


def test_but_not_in_columns_that_their_row_is_not_meant_for():
    rows = {**RECIPE.rows, "extra": RECIPE.rows["extra"].model_copy(update={"columns": ("digits-50",), "bound": True})}
    cells = plan_cells(RECIPE.model_copy(update={"rows": rows}), Choice(methods=("extra",)))
    assert [(cell.name, cell.bound) for cell in cells] == [("digits-50/cnn-bn/extra", True)]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"methods": ("mixupp",)}, "did you mean 'mixup'"),
        ({"methods": ("trustmix:revers",)}, "did you mean 'trustmix:reverse'"),
        ({"methods": ("metamixup-paper",)}, "method 'metamixup-paper' is called 'metamixup' now"),
        ({"methods": ("metamixup-one-step:reverse",)}, "is called 'metamixup-logit:reverse' now"),
        ({"only": ("digit/*",)}, r"did you mean 'digits/\*'"),
        ({"only": ("digits/cnn3/mixup",)}, "unknown cell"),
    ],
)
def test_what_is_not_there_is_answered_with_the_nearest(choice, message):
    with pytest.raises(UserError, match=message):
        names(**choice)


def test_settings_are_laid_over_each_other():
    cells = {cell.name: cell for cell in plan_cells(RECIPE, Choice(data_dir="/data"))}
    given = cells["digits-50/cnn-bn/mixup"].given
    assert (given["epochs"], given["batch_size"], given["policy.alpha"]) == (5, 32, 0.4)
    assert (given["data"], given["data_dir"], given["threads"]) == ("digits", "/data", 1)
    assert cells["digits/cnn3/other"].given["method"] == "metamixup"
    assert cells["digits/cnn3/trustmix"].cost == 6


def test_the_fastest_precision_is_the_planning_machines_for_all_that_run_a_grid(monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx512_bf16": True})
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    fast = RECIPE.model_copy(update={"full": RECIPE.full.model_copy(update={"base": {"precision": "fastest"}})})
    assert {cell.given["precision"] for cell in plan_cells(fast, Choice())} == {"bf16-mixed"}


def test_a_row_has_the_adjustments_of_the_one_that_it_is_like_under_its_own():
    rows = {**RECIPE.rows, "extra": RECIPE.rows["extra"].model_copy(update={"like": "mixup"})}
    adjust = {"mixup": {"epochs": 7, "seed": 3}, "extra": {"epochs": 8}}
    full = RECIPE.full.model_copy(update={"adjust": adjust})
    cells = plan_cells(RECIPE.model_copy(update={"rows": rows, "full": full}), Choice(methods=("mixup", "extra")))
    given = {cell.row: cell.given for cell in cells if cell.column == "digits"}
    assert [(given[row]["epochs"], given[row]["seed"]) for row in ("mixup", "extra")] == [(7, 3), (8, 3)]
    assert given["extra"]["method"] == "cutmix"
    assert "policy.alpha" not in given["extra"]  # settings of the row itself are not shared


def test_a_run_folder_is_named_by_the_settings_and_not_by_places():
    def folders(**choice) -> list[str]:
        cells = plan_cells(RECIPE, Choice(only=("digits/cnn3/baseline",), **choice))
        return [run.folder.name for run in plan_runs(cells, range(2), Path("out"))]

    first, second = folders()
    assert first.startswith("digits-cnn3-baseline-seed0-")
    assert second.startswith("digits-cnn3-baseline-seed1-")
    assert folders(data_dir="/elsewhere") == [first, second]
    changed = RECIPE.model_copy(update={"full": RECIPE.full.model_copy(update={"base": {"epochs": 3}})})
    cells = plan_cells(changed, Choice(only=("digits/cnn3/baseline",)))
    assert plan_runs(cells, [0], Path("out"))[0].folder.name != first


def test_names_with_a_colon_become_names_that_file_systems_take():
    cells = plan_cells(RECIPE, Choice(methods=("trustmix:reverse",)))
    assert all(":" not in run.folder.name for run in plan_runs(cells, range(1), Path("out")))


def test_replay_serves_the_next_seed_which_runs_before():
    cells = plan_cells(RECIPE, Choice(methods=("trustmix", "trustmix:replay"), only=("digits/*",)))
    runs = plan_runs(cells, range(3), Path("out"))
    assert len(runs) == 6
    for run in runs:
        if run.cell.row.endswith(":replay"):
            assert run.source.seed == (run.seed + 1) % 3
            assert runs.index(run.source) < runs.index(run)
            assert run.given["replay"] == str(run.source.folder)


def test_replay_alone_brings_a_source_that_no_table_shows():
    cells = plan_cells(RECIPE, Choice(methods=("trustmix:replay",), only=("digits/*",)))
    source, run = plan_runs(cells, [0], Path("out"))
    assert (source.shown, source.seed, source.given["method"]) == (False, 1, "trustmix")
    assert run.source is source


def test_only_rivals_train_on_the_meta_images_when_they_may():
    cells = plan_cells(load_recipe("table1"), Choice(quick=True, only=("digits/*",), rivals_use_meta=True))
    in_train = {cell.row for cell in cells if cell.given["meta.in_train"]}
    assert "mixup" in in_train
    assert "adamixup" in in_train
    assert not any(row.startswith("trustmix") for row in in_train)


def test_learns_says_whether_a_run_needs_its_meta_set():
    assert learns({"method": "trustmix"})
    assert not learns({"method": "mixup"})
    assert not learns({"method": "nonsense"})


def test_rivals_for_rare_classes_run_on_long_tails_alone():
    cells = plan_cells(load_recipe("winners"), Choice())
    for rival in ("mixup+balanced", "mixup+balanced-head", "logit-adjusted"):
        planned = [cell for cell in cells if cell.row == rival]
        assert len(planned) == 2
        assert {cell.given["corrupt.kind"] for cell in planned} == {"long-tail"}
