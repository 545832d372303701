import pytest
from compared import records, tasks

from metamixup.errors import UserError
from tools.comparison.tasks import read_tasks, title


def test_a_difference_is_paired_by_the_seeds_that_both_have():
    lines = records("clean0", "trustmix", [1.0, 2.0, 4.0, 9.0]) + records("clean0", "baseline", [2.0, 4.0, 4.0, None])
    (task, _) = tasks(lines)
    found = task.difference("trustmix", "baseline")
    # −1, −2, 0: mean −1, deviation 1, half width t(0.975, 2) · 1 / √3 = 4.302653 / 1.732051
    assert found.mean == pytest.approx(-1.0)
    assert found.low == pytest.approx(-1 - 2.484138, abs=1e-5)
    assert found.high == pytest.approx(-1 + 2.484138, abs=1e-5)
    assert found.seeds == 3
    assert task.mean("trustmix") == 4.0
    assert task.std("baseline") == pytest.approx(1.154701, abs=1e-6)


def test_one_seed_has_no_interval_and_none_no_difference():
    (task, other) = tasks(records("clean0", "trustmix", [1.0]) + records("clean0", "baseline", [3.0]))
    found = task.difference("trustmix", "baseline")
    assert (found.mean, found.low, found.high, found.seeds) == (-2.0, None, None, 1)
    assert task.difference("trustmix", "mixup") is None
    assert other.difference("trustmix", "baseline") is None


def test_tasks_are_those_of_the_recipe():
    found = tasks(records("elsewhere", "trustmix", [1.0]), clean=1, noisy=1)
    assert [(task.name, task.imperfect, task.title) for task in found] == [
        ("clean0", False, "Digits"),
        ("noisy0", True, "Fashion-MNIST, 40 % of labels replaced"),
    ]
    assert list(found[0].labels)[-2:] == ["trustmix:reverse", "trustmix:shuffle"]
    assert not any(task.values(method) for task in found for method in task.labels)


def test_titles_tell_the_corruption():
    neighbours = {"data": "cifar10", "corrupt.kind": "neighbours", "corrupt.share": 0.2}
    assert title(neighbours) == "CIFAR-10, 20 % swapped for the next class"
    assert title({"data": "mnist", "corrupt.kind": "long-tail", "corrupt.ratio": 50.0}) == "MNIST, long tail of 50 : 1"
    assert title({"data": "./photos", "subset": 1000}) == "./photos, 1,000 images"


def test_records_without_a_recipe_are_refused(tmp_path):
    (tmp_path / "nobody.jsonl").write_text("")
    with pytest.raises(UserError, match="unknown table"):
        read_tasks(tmp_path / "nobody.jsonl")
    (tmp_path / "winners.jsonl").write_text("")
    assert len(read_tasks(tmp_path / "winners.jsonl")) >= 12


def test_a_curve_is_the_mean_over_the_seeds_that_tell_it():
    told = [[[1, 0.5], [2, 0.7]], [[1, 0.6], [2, None]], []]
    (task, _) = tasks(records("clean0", "trustmix", [1.0, 1.0, 1.0], trust_auroc=told))
    assert task.curve("trustmix", "trust_auroc") == {1: pytest.approx(0.55), 2: 0.7}
    assert task.curve("baseline", "trust_auroc") == {}
