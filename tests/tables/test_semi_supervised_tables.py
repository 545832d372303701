"""Tables III to V: their published numbers, and what their recipes give to each run."""

from pathlib import Path

import pytest

from metamixup.settings.resolve import resolve
from metamixup.tables.cells import Choice, plan_cells, plan_runs
from metamixup.tables.check import refuse_problems
from metamixup.tables.recipe import load_recipe
from metamixup.tables.sentences import learning

COUNTS = {"table3": 50, "table3-oliver": 50, "table4": 8, "table5": 8}
ROWS = (
    *("supervised", "pseudo-label", "apl", "pi-model", "mean-teacher", "vat", "vat-em", "mixup+pseudo-label"),
    *("mixup+apl", "metamixup+pseudo-label", "trustmix+pseudo-label", "metamixup+apl", "trustmix+apl"),
    *("mixmatch-no-mixup", "mixmatch", "metamixup+mixmatch", "trustmix+mixmatch"),
)


def cells(table: str, **choice) -> dict:
    return {cell.name: cell for cell in plan_cells(load_recipe(table), Choice(**choice))}


@pytest.mark.parametrize(("table", "count"), COUNTS.items())
def test_every_number_of_the_paper_is_there(table, count):
    found = cells(table)
    assert len([c for c in found.values() if c.published]) == count
    others = [c for c in found.values() if not c.published]
    assert all(c.row.startswith(("trustmix+", "metamixup+")) and c.given["ssl.meta"] == "labelled" for c in others)


def test_numbers_taken_over_keep_their_mark():
    marked = [name for name, cell in cells("table3").items() if cell.published and cell.published.mark == "†"]
    assert len(marked) == 16
    assert {name.rpartition("/")[2] for name in marked} == {"pi-model", "mean-teacher", "vat", "vat-em"}


def test_the_two_protocols_have_the_same_published_numbers():
    paper, oliver = cells("table3"), cells("table3-oliver")
    assert {n: c.published for n, c in paper.items()} == {n: c.published for n, c in oliver.items()}


def test_some_numbers_as_published():
    found = cells("table3")
    assert found["cifar10-4000/wrn-28-2/metamixup+apl-extra"].published.error == 11.50
    assert found["cifar10-4000/wrn-28-2/metamixup+apl"].published is None
    assert found["svhn-500/wrn-28-2/mixmatch"].published.std == 0.65
    assert "cifar10-1000/wrn-28-2/mixmatch-no-mixup" not in found
    assert cells("table4")["svhn-1000/wrn-28-2/apl"].published.error == 7.46
    assert cells("table5")["cifar10-4000/wrn-28-2/sigma-0.1"].published.error == 11.22


@pytest.mark.parametrize("table", COUNTS)
@pytest.mark.parametrize("quick", [False, True])
def test_all_settings_are_understood(table, quick, tmp_path):
    for run in plan_runs(list(cells(table, quick=quick).values()), [0], Path(tmp_path)):
        assert run.settings().ssl.labels


def settings(table: str, cell: str):
    return plan_runs([cells(table)[cell]], [0], Path("runs"))[0].settings()


def test_the_papers_schedule():
    chosen = settings("table3", "cifar10-4000/wrn-28-2/metamixup+apl")
    assert (chosen.epochs, chosen.batch_size, chosen.ssl.batch_size) == (200, 100, 100)
    assert [round(200 * m) for m in chosen.optimizer.milestones] == [60, 120, 180]
    assert (chosen.ssl.sigma, chosen.ssl.sigma_drop, chosen.ssl.sigma_every) == (0.95, 0.05, 30)
    assert (chosen.optimizer.name, chosen.optimizer.lr, chosen.augment.flip, chosen.augment.shift) == (
        "sgd",
        0.1,
        True,
        2,
    )


def test_the_other_protocol():
    vat = settings("table3-oliver", "cifar10-4000/wrn-28-2/vat")
    assert (vat.optimizer.name, vat.optimizer.lr, vat.optimizer.weight_decay) == ("adam", 3e-3, 0)
    assert (vat.ssl.weight, vat.ssl.epsilon, vat.ssl.xi, vat.ssl.ramp_over) == (0.3, 6.0, 1e-6, 200_000)
    assert (vat.pixels, vat.augment.noise) == ("zca", 0.15)
    assert abs(vat.epochs * (46_000 // 50) - 500_000) < 1000
    teacher = settings("table3-oliver", "svhn-1000/wrn-28-2/mean-teacher")
    assert (teacher.ssl.weight, teacher.ssl.ema, teacher.optimizer.lr) == (8.0, 0.95, 4e-4)
    assert (teacher.augment.flip, teacher.augment.noise, teacher.pixels) == (False, 0.0, "symmetric")


@pytest.mark.parametrize("table", ["table3", "table3-oliver"])
def test_mixmatch_has_what_its_source_fixes(table):
    cifar = settings(table, "cifar10-1000/wrn-28-2/mixmatch")
    house = settings(table, "svhn-500/wrn-28-2/mixmatch")
    assert (cifar.ssl.weight, house.ssl.weight) == (75.0, 250.0)
    assert (cifar.ssl.temperature, cifar.ssl.augmentations, cifar.ssl.ema, cifar.ssl.ramp_over) == (
        0.5,
        2,
        0.999,
        16_384,
    )
    assert (cifar.policy.name, cifar.policy.model_dump()["alpha"]) == ("beta", 0.75)
    assert cells(table)["svhn-500/wrn-28-2/mixmatch"].score == "test_error_median"
    assert settings(table, "svhn-500/wrn-28-2/pseudo-label").ssl.weight == 1.0


@pytest.mark.parametrize(("table", "budget"), [("table3", ""), ("table3", "cpu"), ("table3-oliver", "")])
def test_forms_of_mixmatch_differ_in_their_policy_alone(table, budget):
    forms = ("metamixup", "metamixup-clip", "metamixup-logit", "trustmix")
    rows = ["mixmatch", *(f"{form}+mixmatch" for form in forms)]
    found, other = cells(table, budget=budget, methods=tuple(rows)), {"method", "policy", "estimator", "meta"}
    settings = {name: plan_runs([cell], [0], Path("runs"))[0].settings() for name, cell in found.items()}
    assert len(settings) > len(rows)
    for name, chosen in settings.items():
        twin = settings[f"{name.rpartition('/')[0]}/mixmatch"]
        assert chosen.model_dump(exclude=other) == twin.model_dump(exclude=other), name


FAMILIES = {"pseudo-label": "mixup+pseudo-label", "apl": None, "mixmatch": "mixmatch"}  # and their MixUp twins
FORMS = ("metamixup-clip+{}", "metamixup-logit+{}", "metamixup+{}-extra")


def test_the_quick_table_has_every_row():
    assert tuple(c.method for c in cells("table3", quick=True, only=("digits-50/*",)).values()) == ROWS


@pytest.mark.parametrize("table", ["table3", "table3-oliver"])
@pytest.mark.parametrize("family", FAMILIES)
def test_other_forms_and_the_papers_meta_set_run_on_demand(table, family):
    asked = tuple(form.format(family) for form in FORMS)
    found = cells(table, quick=True, methods=asked, only=("digits-50/*",))
    assert {c.row for c in found.values()} == set(asked)
    runs = plan_runs(list(found.values()), [0], Path("runs"))
    refuse_problems(runs)
    assert {run.cell.row: learning(run.cell) for run in runs} == {
        f"metamixup-clip+{family}": "learned · clip · exact",
        f"metamixup-logit+{family}": "learned · logit · head",
        f"metamixup+{family}-extra": "learned · paper · exact",
    }
    assert {run.cell.row: run.settings().ssl.meta for run in runs}[f"metamixup+{family}-extra"] == "extra"


def test_the_papers_meta_set_stands_beside_that_of_the_labelled_images():
    extra, fair = (settings("table3", f"cifar10-4000/wrn-28-2/metamixup+apl{form}") for form in ("-extra", ""))
    assert (extra.ssl.meta, extra.meta.per_class, extra.meta.in_train) == ("extra", 50, False)
    assert fair.ssl.meta == "labelled"
    assert extra.model_dump(exclude={"ssl", "meta"}) == fair.model_dump(exclude={"ssl", "meta"})
    five = settings("table5", "cifar10-4000/wrn-28-2/sigma-0.05")
    assert (five.ssl.meta, five.meta) == (extra.ssl.meta, extra.meta)


IMAGES = {"cifar10": 50_000, "svhn": 73_257}


def test_every_row_of_the_other_protocol_takes_its_steps():
    rows = tuple(load_recipe("table3-oliver").rows)
    for run in plan_runs(list(cells("table3-oliver", methods=rows).values()), [0], Path("runs")):
        chosen = run.settings()
        extra = 500 if chosen.ssl.meta == "extra" else 0
        an_epoch = (IMAGES[chosen.data] - chosen.ssl.labels - extra) // chosen.ssl.batch_size
        steps = 1_048_576 if "mixmatch" in run.cell.row else 500_000
        assert abs(chosen.epochs * an_epoch - steps) < an_epoch, run.cell.name


@pytest.mark.parametrize("row", ["apl", "mixup+apl", "metamixup-clip+apl", "metamixup-logit+apl", "trustmix+apl"])
def test_the_family_of_pseudo_label_has_its_learning_rate_under_the_other_protocol(row):
    found = cells("table3-oliver", methods=(row,), only=("svhn-500/*",))
    assert [resolve(cell.given).optimizer.lr for cell in found.values()] == [3e-4]


@pytest.mark.parametrize("form", ["metamixup+{}-extra", "metamixup+{}"])
def test_learned_rows_are_compared_with_their_mixup_twins(form):
    found = cells("table3")
    assert {f: found[f"cifar10-4000/wrn-28-2/{form.format(f)}"].against for f in FAMILIES} == FAMILIES
    assert load_recipe("table3").reference == "mixup+apl"
