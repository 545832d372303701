import pytest

from metamixup.tables.cells import Cell
from metamixup.tables.entry import Entry
from metamixup.tables.sentences import budget, budgets, how_to_read, learning, meta_images


def cell(method: str = "mixup", **given) -> Cell:
    named = {key.replace("__", "."): value for key, value in given.items()}
    return Cell("digits", "cnn3", method, method, {"method": method, "epochs": 3, **named}, None, 1.0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"meta__in_train": False}, "all training images, meta images held out, 3 epochs, batches of 64"),
        ({"meta__in_train": True, "subset": 1000}, "1,000 training images, meta images trained on too, 3 epochs"),
        ({"meta__source": "none"}, "all training images, no meta set, 3 epochs"),
        ({"ssl__labels": 50}, "all training images with 50 labels, which are the meta set too, 3 epochs"),
        ({"ssl__labels": 50, "ssl__meta": "extra"}, "with 50 labels and those of a meta set beside them, 3 epochs"),
    ],
)
def test_what_a_run_is_given_comes_from_resolved_settings(given, told):
    assert told in budget(cell(**given))


def test_each_column_is_told_once():
    assert len(budgets([cell(), cell("baseline")])) == 1


@pytest.mark.parametrize(
    ("kept", "told"), [((True, True), "All methods train on"), ((False, False), "held out"), ((True, False), "Methods")]
)
def test_who_trains_on_the_meta_images(kept, told):
    assert told in meta_images([cell(meta__in_train=own) for own in kept])


def test_extra_meta_labels_are_not_passed_over():
    assert "beside those that are counted" in meta_images([cell(ssl__labels=50, ssl__meta="extra")])


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
