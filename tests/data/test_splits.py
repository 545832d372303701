import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.data.splits import balanced_sizes, default_meta_per_class, split, stratified_test
from metamixup.errors import DataError, UserError

LABELS = torch.arange(1000) % 10


def sets(parts):
    return [set(part.tolist()) for part in (parts.train, parts.unlabelled, parts.meta)]


def test_the_meta_set_is_held_out_balanced():
    parts = split(LABELS, 10, seed=0, meta_per_class=7)
    train, unlabelled, meta = sets(parts)
    assert LABELS[parts.meta].bincount().tolist() == [7] * 10
    assert not train & meta
    assert train | meta == set(range(1000))
    assert not unlabelled


def test_kept_in_the_training_set_on_request():
    parts = split(LABELS, 10, seed=0, meta_per_class=7, meta_in_train=True)
    assert len(parts.train) == 1000
    assert torch.equal(parts.meta, split(LABELS, 10, seed=0, meta_per_class=7).meta)


def test_with_few_labels_they_are_the_meta_set():
    parts = split(LABELS, 10, seed=0, labelled=50)
    train, unlabelled, meta = sets(parts)
    assert train == meta
    assert len(train) == 50
    assert LABELS[parts.train].bincount().tolist() == [5] * 10
    assert train | unlabelled == set(range(1000))
    assert not train & unlabelled


def test_extra_meta_images_lie_beside_the_labelled_ones():
    train, unlabelled, meta = sets(split(LABELS, 10, seed=0, labelled=50, meta="extra", meta_per_class=3))
    assert (len(train), len(unlabelled), len(meta)) == (50, 920, 30)
    assert len(train | unlabelled | meta) == 1000


@settings(max_examples=60, deadline=None)
@given(
    labels=st.lists(st.integers(0, 4), min_size=5, max_size=80),
    labelled=st.none() | st.integers(1, 30),
    per_class=st.none() | st.integers(1, 6),
    meta=st.sampled_from(["labelled", "extra"]),
    seed=st.integers(0, 5),
)
def test_any_split_is_balanced_and_disjoint_or_names_the_class(labels, labelled, per_class, meta, seed):
    y = torch.tensor(labels)
    names = ["zero", "one", "two", "three", "four"]
    try:
        parts = split(y, 5, seed=seed, labelled=labelled, meta_per_class=per_class, meta=meta, classes=names)
    except DataError as problem:
        assert any(f"'{name}'" in str(problem) for name in names)  # noqa: PT017
        return
    except UserError as problem:
        assert "at least one a class" in str(problem)  # noqa: PT017
        return
    train, unlabelled, held_out = sets(parts)
    counts = y[parts.meta].bincount(minlength=5)
    assert counts.max() - counts.min() <= 1
    assert not train & unlabelled
    assert not held_out & unlabelled
    assert train | unlabelled | held_out == set(range(len(y)))
    assert (train == held_out) if labelled and meta == "labelled" else not train & held_out
    assert labelled is None or len(train) == labelled
    assert y[parts.train].bincount(minlength=5).min() > 0


def test_the_seed_decides():
    same, again, other = (split(LABELS, 10, seed=seed, meta_per_class=5).meta for seed in (3, 3, 4))
    assert torch.equal(same, again)
    assert not torch.equal(same, other)


@pytest.mark.parametrize(
    ("images", "classes", "each"), [(60000, 10, 100), (5000, 10, 50), (500, 10, 10), (90, 3, 7), (9, 3, 1)]
)
def test_a_tenth_but_ten_to_a_hundred_a_class_and_a_quarter_at_most(images, classes, each):
    assert default_meta_per_class(torch.arange(images) % classes, classes) == each


def test_a_rare_class_makes_the_default_meta_set_small_not_impossible():
    labels = torch.tensor([0] * 500 + [1] * 9)
    assert len(split(labels, 2, seed=0).meta) == 4
    lone = torch.tensor([0] * 20 + [1])
    assert len(split(lone, 2, seed=0, meta_in_train=True).train) == 21


def test_a_class_with_too_few_images_is_named():
    labels = torch.tensor([0] * 50 + [1] * 10)
    told = r"class 'rare' has 10 image\(s\) left: too few for 10 in the meta set and 1 .*--set meta.per_class=…"
    with pytest.raises(DataError, match=told):
        split(labels, 2, seed=0, meta_per_class=10, classes=["common", "rare"])
    with pytest.raises(DataError, match=r"too few for 20 in the labelled set; ask for fewer .--set ssl.labels="):
        split(labels, 2, seed=0, labelled=40, classes=["common", "rare"])


def test_a_class_without_any_image_is_named():
    with pytest.raises(DataError, match="class '2' has 0"):
        split(torch.tensor([0, 1] * 20), 3, seed=0, meta_per_class=1)


@pytest.mark.parametrize("per_class", [0, -1])
def test_an_empty_meta_set_is_a_mistake(per_class):
    with pytest.raises(UserError, match="at least 1"):
        split(LABELS, 10, seed=0, meta_per_class=per_class)


def test_a_remainder_is_shared_out():
    sizes = balanced_sizes(13, 5, seed=0)
    assert sorted(sizes) == [2, 2, 3, 3, 3]
    with pytest.raises(UserError, match="at least one a class"):
        balanced_sizes(4, 5, seed=0)


def test_a_stratified_test_set():
    labels = torch.tensor([0] * 40 + [1] * 8 + [2])
    train, test = stratified_test(labels, 3, 0.25, seed=0)
    assert labels[test].bincount(minlength=3).tolist() == [10, 2, 0]
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(49))
