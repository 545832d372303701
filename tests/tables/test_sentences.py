import re
from dataclasses import replace

import pytest

from metamixup.tables.cells import Cell, Choice, plan_cells
from metamixup.tables.entry import Entry
from metamixup.tables.recipe import known_tables, load_recipe
from metamixup.tables.sentences import budget, budgets, how_to_read, learning, meta_images


def cell(method: str = "mixup", **given) -> Cell:
    named = {key.replace("__", "."): value for key, value in given.items()}
    return Cell("digits", "cnn3", method, method, {"method": method, "epochs": 3, **named}, None, 1.0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"meta__in_train": False}, "all training images, meta images held out, 3 epochs, batches of 64"),
        (
            {"precision": "bf16-mixed"},
            "all training images, meta images trained on too, 3 epochs, batches of 64, in bf16-mixed",
        ),
        ({"meta__in_train": True, "subset": 1000}, "1,000 training images, meta images trained on too, 3 epochs"),
        ({"meta__source": "none"}, "all training images, no meta set, 3 epochs"),
        ({"ssl__labels": 50}, "all training images, 50 labels that are the meta set too, 3 epochs"),
        ({"ssl__labels": 50, "meta__source": "none"}, "50 labels that are the meta set too"),
    ],
)
def test_what_a_run_is_given_comes_from_resolved_settings(given, told):
    assert told in budget(cell(**given))


EXTRA = {"ssl__labels": 4000, "ssl__meta": "extra"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"meta__per_class": 50, "meta__in_train": False}, "4,500 labels (500 of them of the meta set, held out)"),
        ({"meta__per_class": 5, "data": "cifar100"}, "4,500 labels (500 of them of the meta set, trained on too)"),
        ({"meta__per_class": 50, "classes": 4}, "4,200 labels (200 of them of the meta set, trained on too)"),
        ({"data": "mnist"}, "4,000 labels and those of a meta set, trained on too"),  # the loaded images tell how many
        ({"meta__per_class": 5, "data": "no/where"}, "4,000 labels and those of a meta set, trained on too"),
    ],
)
def test_extra_meta_labels_are_counted(given, told):
    assert f"all training images, {told}, 3 epochs" in budget(cell(**EXTRA, **given))


def test_a_column_is_told_once_and_its_controls_with_their_row():
    ours = cell("trustmix")
    assert budgets([ours, replace(ours, control="reverse"), cell("baseline")]) == [
        "digits with cnn3: all training images, meta images trained on too, 3 epochs, batches of 64."
    ]


def test_rows_that_are_given_something_else_are_named_with_it():
    others = [cell("elr", batch_size=32), cell("gce+mixup", batch_size=32), cell("cutmix", subset=99, epochs=1371)]
    (told,) = budgets([others[0], cell(), cell("baseline"), cell("trustmix"), *others[1:]])
    assert told == (
        "digits with cnn3: all training images, meta images trained on too, 3 epochs, batches of 64. "
        "For `elr` and `gce+mixup`: batches of 32. For `cutmix`: 99 training images, 1,371 epochs."
    )


def test_settings_that_do_not_resolve_are_passed_over():
    assert budgets([cell("nonsense")]) == []
    assert budgets([cell("nonsense"), cell()]) == budgets([cell()])


def test_mixmatch_under_the_other_protocol_is_told_with_its_own_length():
    planned = plan_cells(load_recipe("table3-oliver"), Choice(only=("cifar10-1000/*",)))
    (told,) = budgets(planned)
    assert "1,000 labels that are the meta set too, 510 epochs, batches of 50. For" in told
    assert "`mixmatch`, `metamixup+mixmatch` and `trustmix+mixmatch`: 1,371 epochs, batches of 64." in told
    assert "`metamixup+apl-extra`: 1,500 labels (500 of them of the meta set, held out), 515 epochs." in told
    assert meta_images(planned) == "Rows differ in the images or labels that they see, as told above."


def test_rows_with_meta_images_held_out_are_named_among_others():
    planned = plan_cells(load_recipe("variants"), Choice())
    assert all("For `one-step-held-out` and `trust-held-out`: meta images held out." in t for t in budgets(planned))
    assert "Rows differ" in meta_images(planned)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([{"meta__in_train": True}] * 2, "All methods train on the meta images too"),
        ([{"meta__in_train": False}] * 2, "The meta images are held out for all methods"),
        ([{"meta__in_train": True}, {"meta__in_train": False}], "Rows differ in the images or labels"),
        ([{}, {"subset": 500}], "Rows differ in the images or labels"),
        ([{"meta__source": "none"}] * 2, "No method has a meta set"),
        ([{"ssl__labels": 50}] * 2, "The labelled images serve as the meta set, so that all methods have the same"),
        ([EXTRA] * 2, "The meta set has labels of its own, which are counted."),
        ([{"ssl__labels": 50}, {"ssl__labels": 50, "ssl__meta": "extra"}], "Rows differ in the images or labels"),
    ],
)
def test_do_all_rows_see_the_same_images_and_labels(given, told):
    assert told in meta_images([cell(**own) for own in given])


def test_columns_may_differ_where_their_rows_do_not():
    without = replace(cell(meta__source="none"), column="others")
    assert meta_images([cell(), without]) == "All methods of a column see the same images."


@pytest.mark.parametrize("table", known_tables())
def test_what_is_made_from_settings_is_not_typed_by_hand_too(table):
    for variant in load_recipe(table).variants:
        assert not re.search(r"\d (epochs|steps|labels)", variant.note)


def test_where_lambda_comes_from():
    assert learning(cell("mixup")) == "beta"
    assert learning(cell(policy__name="learned", policy__projection="clip")) == "learned · clip · head"


def test_the_median_is_told_of_the_rows_that_have_it_and_processors_are_named():
    last, median = (
        Entry("a/b", name, score=score) for name, score in (("x", "test_error"), ("y", "test_error_median"))
    )
    assert (
        "that of the last epoch (of `y`: the median of the last 20 epochs)" in how_to_read([last, median], "mixup")[0]
    )
    assert "that of the median of the last 20 epochs, over" in how_to_read([median], "mixup")[0]
    assert "Run on: A; B." in how_to_read([Entry("a/b", "x", processors=("B", "A"))], "mixup")[1]
