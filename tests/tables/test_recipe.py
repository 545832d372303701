import pytest

from metamixup.errors import UserError
from metamixup.settings import build
from metamixup.settings.resolve import resolve
from metamixup.tables.cells import Choice, plan_cells
from metamixup.tables.recipe import known_tables, load_recipe, read_recipe
from metamixup.tables.reproduce import Reproduction

PAPER = {  # table: (runs, numbers), as the specification counts them
    "table1": (50, 60),
    "table2": (40, 40),
}


@pytest.mark.parametrize("table", PAPER)
def test_the_cells_of_the_paper_are_all_there(table):
    published = [p for c in load_recipe(table).full.columns for p in c.published.values()]
    assert (len(published), len(published) + sum(p.top5 is not None for p in published)) == PAPER[table]


def test_numbers_taken_over_from_other_papers_keep_their_mark():
    recipe = load_recipe("table1")
    marked = {
        (column.data, row)
        for column in recipe.full.columns
        for row, number in column.published.items()
        if number.mark == "‡"
    }
    assert len(marked) == 8
    assert {row for _, row in marked} == {"adamixup", "adamixup-no-discriminator"}


def test_spot_checks_against_the_paper():
    one, two = load_recipe("table1"), load_recipe("table2")
    by_place = {(c.data, c.model): c.published for c in one.full.columns}
    assert by_place["imagenet", "wrn-28-10"]["metamixup"].top5 == 23.91
    assert by_place["svhn", "preact-resnet18"]["mixup"].error == 3.83
    alphas = {(c.data, c.model): c.published for c in two.full.columns}
    assert alphas["svhn", "preact-resnet18"]["mixup"].error == 4.03
    assert alphas["cifar10", "preact-resnet18"]["fixed-0.5"].error == 5.88
    assert alphas["cifar10", "wrn-28-10"]["metamixup"].error == 2.48


VARIANTS = [(table, quick, "") for table in known_tables() for quick in (False, True)]
VARIANTS += [(table, False, "cpu") for table in known_tables() if load_recipe(table).cpu is not None]


@pytest.mark.parametrize(("table", "quick", "budget"), VARIANTS)
def test_every_cell_has_settings_that_resolve(table, quick, budget):
    cells = plan_cells(load_recipe(table), Choice(quick=quick, budget=budget, controls=True))
    assert cells
    assert len({cell.name for cell in cells}) == len(cells)
    for cell in cells:
        if cell.control != "replay":
            resolve(cell.given)


@pytest.mark.parametrize("table", PAPER)
def test_the_full_variant_has_the_papers_settings_and_none_of_the_products(table):
    for cell in plan_cells(load_recipe(table), Choice()):
        settings = resolve(cell.given)
        assert (settings.epochs, settings.batch_size, settings.subset) == (600, 128, None)
        assert (settings.optimizer.name, settings.optimizer.lr, settings.optimizer.momentum) == ("sgd", 0.1, 0.9)
        assert (settings.optimizer.weight_decay, settings.optimizer.schedule) == (1e-4, "cosine")
        assert (settings.augment.flip, settings.augment.shift, settings.augment.crop) == (True, 0, 0)
        classes = {"cifar100": 100, "imagenet": 1000}.get(settings.data, 10)
        assert settings.meta.per_class * classes == 1000
        assert settings.image_size == (100 if settings.data == "imagenet" else None)


def test_metamixup_is_equation_13_to_the_letter():
    cell = next(c for c in plan_cells(load_recipe("table1"), Choice()) if c.row == "metamixup")
    settings = resolve(cell.given)
    assert settings.policy.model_dump() == {
        **{"name": "learned", "projection": "paper", "step_size": 5.0, "normalise": False, "alpha": 1.0},
        "per": "sample",
    }
    assert (settings.estimator.name, settings.estimator.every) == ("exact", 1)


def test_the_quick_digits_column_has_all_methods_and_both_controls():
    rows = {c.method for c in plan_cells(load_recipe("table1"), Choice(quick=True, only=("digits/*",)))}
    named = {"baseline", "mixup", "fixed", "manifold", "cutmix", "adamixup-no-discriminator", "adamixup", "metamixup"}
    assert rows == named | {"trustmix", "trustmix:reverse", "trustmix:shuffle"}


@pytest.mark.parametrize(("table", "quick", "budget"), [v for v in VARIANTS if v[1:] != (False, "")])
def test_published_numbers_and_their_marks_stand_in_the_papers_own_variant_alone(table, quick, budget, tmp_path):
    small = Reproduction(load_recipe(table), Choice(quick=quick, budget=budget), tmp_path)
    assert all(cell.published is None for cell in small.cells)
    assert small.frame().marks == ()


def test_marks_are_explained_where_they_stand(tmp_path):
    whole = Reproduction(load_recipe("table1"), Choice(), tmp_path)
    assert [mark for mark, _ in whole.frame().marks] == ["‡"]
    without = Reproduction(load_recipe("table1"), Choice(methods=("mixup",)), tmp_path)
    assert without.frame().marks == ()


GOOD = """
title = "mine"
[rows.baseline]
[full]
columns = [{ data = "digits", model = "cnn3", published = { baseline = 1.5 } }]
[quick]
columns = [{ data = "digits", model = "cnn3" }]
"""


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (("[rows.baseline]", "[rows.baseline]\nlable = 'x'"), ["rows.baseline.lable", "did you mean 'label'"]),
        (("{ baseline = 1.5 }", "{ baselin = 1.5 }"), ["unknown row 'baselin'", "did you mean 'baseline'"]),
        (("{ baseline = 1.5 }", "{ baseline = { error = 1, mark = '†' } }"), ["marks without an explanation: †"]),
        (("[rows.baseline]", "[rows.baseline]\nlike = 'baselin'"), ["row 'baseline', like: unknown row 'baselin'"]),
        (("title", "tittle"), ["did you mean 'title'", "Field required"]),
        (('data = "digits", model = "cnn3" }', 'data = 3, modle = "x" }'), ["data", "did you mean 'model'"]),
        (("[full]", "[full"), ["is not TOML"]),
    ],
)
def test_mistakes_are_told_all_at_once_with_the_nearest_name(tmp_path, change, messages):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert read_recipe(path).title == "mine"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(UserError) as caught:
        read_recipe(path)
    for message in messages:
        assert message in str(caught.value)


def test_columns_that_share_a_name_are_refused(tmp_path):
    column = '[[full.columns]]\ndata = "digits"\nmodel = "cnn3"\n'
    quick = '[[quick.columns]]\ndata = "digits"\nmodel = "cnn3"\n'
    other = f"{column}settings.epochs = 7\n"
    path = tmp_path / "mine.toml"
    path.write_text(f'title = "t"\n[rows]\nmixup = {{}}\n{column}{other}{quick}')
    with pytest.raises(UserError, match="2 columns are called digits/cnn3; give each a `name`"):
        read_recipe(path)
    path.write_text(f'title = "t"\n[rows]\nmixup = {{}}\n{column}{other}name = "longer"\n{quick}')
    assert [c.title for c in read_recipe(path).full.columns] == ["digits", "longer"]


def test_unknown_tables_and_files():
    with pytest.raises(UserError, match="did you mean 'table1'"):
        load_recipe("tabel1")
    with pytest.raises(UserError, match="cannot be read"):
        load_recipe("nowhere/mine.toml")


ALL_TABLES = ("table1", "table2", "table3", "table3-oliver", "table4", "table5")


def test_all_numbers_of_the_paper_are_counted():
    found = [c.published for table in ALL_TABLES for c in plan_cells(load_recipe(table), Choice()) if c.published]
    assert len(found) + sum(p.top5 is not None for p in found) == 216  # Table III twice, by both protocols


VARIANTS = [(table, {"quick": quick}) for table in ALL_TABLES for quick in (False, True)]
VARIANTS += [(table, {"budget": "cpu"}) for table in ALL_TABLES if load_recipe(table).cpu is not None]


@pytest.mark.parametrize(("table", "variant"), VARIANTS)
def test_published_numbers_of_learned_methods_stand_beside_the_letter_alone(table, variant):
    for cell in plan_cells(load_recipe(table), Choice(controls=True, **variant)):
        settings = resolve(cell.given)
        if cell.published is None or not build.learns(settings):
            continue
        chosen = settings.policy.model_dump()
        assert (chosen["projection"], chosen["step_size"], chosen["normalise"]) == ("paper", 5.0, False), cell.name
        assert (settings.estimator.name, settings.estimator.every, settings.control) == ("exact", 1, None)
        if settings.ssl.labels is not None:  # the paper takes 500 labels more for its meta set
            assert (settings.ssl.meta, settings.meta.per_class, settings.meta.in_train) == ("extra", 50, False)


def test_the_same_row_is_expected_to_cost_the_same_in_two_tables():
    three, five = ({c.name: c.cost for c in plan_cells(load_recipe(t), Choice())} for t in ("table3", "table5"))
    for task in ("cifar10-4000/wrn-28-2", "svhn-1000/wrn-28-2"):
        assert five[f"{task}/sigma-0.05"] == pytest.approx(three[f"{task}/metamixup+apl-extra"])


def on_cpus(table):
    return plan_cells(load_recipe(table), Choice(budget="cpu"))


def test_table_one_on_cpus_has_the_rows_that_matter_on_all_images():
    cells = on_cpus("table1")
    rows = {c.column: [o.method for o in cells if o.column == c.column] for c in cells}
    assert rows["mnist"] == rows["fashion"]
    assert {"baseline", "mixup", "mixup-0.2", "mixup+settle", "cutmix", "manifold", "metamixup"} < set(rows["mnist"])
    assert set(rows["mnist"]) - set(rows["cifar10"]) == {"metamixup"}
    for cell in cells:
        settings = resolve(cell.given)
        assert (settings.model, settings.subset, settings.meta.in_train) == ("fast-s", None, False)
        assert settings.augment.grow  # of the recipe that it starts from
    assert {c.method: c.seeds for c in cells}["trustmix"] == 3
    assert {c.method: c.seeds for c in cells}["trustmix:shuffle"] == 1


def test_table_three_on_cpus_takes_four_thousand_steps_with_weights_that_fit():
    for cell in on_cpus("table3"):
        settings, images = resolve(cell.given), 50_000 if cell.column == "cifar10-4000" else 60_000
        unlabelled = images - settings.ssl.labels
        assert 4000 <= settings.epochs * (unlabelled // settings.ssl.batch_size) < 5000
        assert cell.score == "test_error"  # the one evaluation is the last epoch
        assert cell.seeds == (1 if cell.column == "cifar10-4000" else 3)
        assert "mixmatch" not in cell.method or settings.ssl.weight == 20
