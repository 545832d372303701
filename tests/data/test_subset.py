import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.data import DataSet, ImageSet
from metamixup.data.subset import take_classes, take_subset
from metamixup.errors import DataError


def made(counts: list[int]) -> DataSet:
    labels = torch.cat([torch.full((n,), c) for c, n in enumerate(counts)])
    images = torch.arange(len(labels), dtype=torch.uint8).view(-1, 1, 1, 1)
    part = ImageSet(images, labels)
    return DataSet("made", part, part, tuple(map(str, range(len(counts)))), (0.0,), (1.0,))


@settings(max_examples=50, deadline=None)
@given(counts=st.lists(st.integers(1, 20), min_size=1, max_size=6), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_the_size_is_exact_and_classes_keep_their_shares(counts, share, seed):
    whole = made(counts)
    size = max(1, round(share * sum(counts)))
    part = take_subset(whole, size, seed).train
    assert len(part) == size
    kept = part.images.flatten().tolist()
    assert len(set(kept)) == size
    assert torch.equal(whole.train.labels[kept], part.labels)
    found = part.labels.bincount(minlength=len(counts)).tolist()
    assert all(abs(n - size * c / sum(counts)) < 1 for n, c in zip(found, counts, strict=True))


def test_the_seed_decides_and_the_test_set_stays():
    whole = made([50, 50])
    first, again, other = (take_subset(whole, 20, seed) for seed in (0, 0, 1))
    assert torch.equal(first.train.images, again.train.images)
    assert not torch.equal(first.train.images, other.train.images)
    assert first.test is whole.test


def test_more_than_there_is_is_refused():
    with pytest.raises(DataError, match="only 10"):
        take_subset(made([5, 5]), 11, 0)


def test_some_of_the_classes_are_renumbered_in_training_and_test_images():
    whole = made([3, 4, 5, 6])
    part = take_classes(whole, 2, seed=1)
    kept = [int(name) for name in part.classes]
    assert kept == sorted(kept)
    assert len(part.train) == len(part.test) == sum([3, 4, 5, 6][c] for c in kept)
    for position, c in enumerate(kept):
        assert torch.equal(
            part.train.images[part.train.labels == position], whole.train.images[whole.train.labels == c]
        )
    assert {take_classes(whole, 2, seed).classes for seed in range(20)} > {part.classes}


def test_fewer_than_two_classes_or_more_than_there_are_are_refused():
    for count in (1, 5):
        with pytest.raises(DataError, match="there are 4"):
            take_classes(made([3, 4, 5, 6]), count, seed=0)
