import json

import pytest

from metamixup.tables.entry import Difference, Entry, best_of, from_json, paired, shared_seeds, to_json


def entry(method: str, errors: tuple[float, ...], control: str = "", **more) -> Entry:
    mean = sum(errors) / len(errors) if errors else None
    return Entry("digits/cnn3", method, control, seeds=tuple(range(len(errors))), errors=errors, mean=mean, **more)


def test_a_control_never_wins():
    ours, control = entry("metamixup", (2.0, 2.0, 2.0)), entry("metamixup", (1.0, 1.0, 1.0), "reverse")
    assert best_of([control, ours]) is ours
    assert best_of([control]) is None


def test_a_bound_never_wins():
    ours, bound = entry("trustmix", (2.0, 2.0, 2.0)), entry("mixup-right", (1.0, 1.0, 1.0), bound=True)
    assert best_of([bound, ours]) is ours


def test_nothing_is_best_below_three_seeds():
    few, many = entry("mixup", (1.0, 1.0)), entry("baseline", (2.0, 2.0, 2.0))
    assert best_of([few, many]) is None
    assert best_of([many, entry("mixup", (3.0,))]) is many


def test_means_are_over_the_seeds_that_all_share():
    few, many, none = shared_seeds([entry("mixup", (1.0, 2.0)), entry("ours", (1.0, 3.0, 8.0)), entry("never run", ())])
    assert (few.mean, few.seeds) == (1.5, (0, 1))
    assert (many.mean, many.seeds) == (2.0, (0, 1))
    assert (none.mean, none.seeds) == (None, ())


def test_a_row_of_one_seed_leaves_the_others_theirs():
    one, many = shared_seeds([entry("cutmix", (7.0,)), entry("ours", (1.0, 3.0, 8.0))])
    assert (one.mean, one.seeds) == (7.0, (0,))
    assert (many.mean, many.seeds) == (4.0, (0, 1, 2))


def test_no_interval_has_zero_width():
    assert paired([0.5, 0.5, 0.5]) == Difference(0.5, None, None, 3)
    assert paired([0.5]) == Difference(0.5, None, None, 1)
    assert paired([]) is None


def test_two_seeds_make_nothing_sure():
    two, three = paired([1.0, 1.001]), paired([1.0, 1.001, 1.002])
    assert two.low > 0
    assert not two.sure
    assert three.above
    assert not three.below


def test_an_entry_survives_its_way_through_json():
    whole = entry(
        "metamixup",
        (1.0, 2.0, 4.0),
        "reverse",
        std=1.0,
        difference=Difference(-1.0, -2.0, -0.5, 3),
        against="m",
        bound=True,
    )
    assert from_json(json.loads(json.dumps(to_json(whole)))) == whole
    assert to_json(whole)["cell"] == "digits/cnn3/metamixup:reverse"


@pytest.mark.parametrize("found", [None, 3, [], {}, {"cell": 3}])
def test_what_is_no_cell(found):
    assert from_json(found) is None


def test_values_of_another_type_are_not_measured():
    odd = from_json({"cell": "a/b/c", "error": [1.0, "x", None], "mean": "1", "seeds": 3, "paired_vs_mixup": 7})
    assert (odd.task, odd.method, odd.errors, odd.mean, odd.difference) == ("a/b", "c", (1.0,), None, None)
