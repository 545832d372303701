import pytest
import torch

from metamixup.data.corrupt import confuse_by_image, confuse_pairs, long_tail, replace_labels, swap_neighbours
from metamixup.errors import UserError

LABELS = torch.arange(1000) % 10


@pytest.mark.parametrize("corrupt", [replace_labels, swap_neighbours])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_exactly_that_share_is_wrong_and_the_mask_says_which(corrupt, share):
    labels, wrong = corrupt(LABELS, 10, share, seed=0)
    assert torch.equal(labels != LABELS, wrong)
    assert int(wrong.sum()) == round(1000 * share)
    assert 0 <= int(labels.min()) <= int(labels.max()) <= 9


def test_replacements_are_of_all_other_classes_and_neighbours_of_one():
    labels, wrong = replace_labels(LABELS, 10, 0.9, seed=1)
    assert ((labels - LABELS) % 10)[wrong].unique().tolist() == list(range(1, 10))
    labels, wrong = swap_neighbours(LABELS, 10, 0.9, seed=1)
    assert ((labels - LABELS) % 10)[wrong].unique().tolist() == [1]


def test_the_seed_decides_and_the_original_stays():
    before = LABELS.clone()
    one, again, other = (replace_labels(LABELS, 10, 0.3, seed=seed)[0] for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert torch.equal(LABELS, before)


def test_the_long_tail_falls_from_first_to_last():
    kept = LABELS[long_tail(LABELS, 10, ratio=50, seed=0)].bincount(minlength=10).tolist()
    assert kept[0] == 100
    assert kept[9] == 2
    assert kept == sorted(kept, reverse=True)
    assert len(long_tail(LABELS, 10, ratio=1, seed=0)) == 1000


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_lie_between_0_and_1(share):
    with pytest.raises(UserError, match="between 0 and 1"):
        replace_labels(LABELS, 10, share, seed=0)


def test_a_ratio_below_one_is_a_mistake():
    with pytest.raises(UserError, match="at least 1"):
        long_tail(LABELS, 10, ratio=0.5, seed=0)


def test_pairs_that_people_confuse():
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    labels = torch.arange(1000) % 10
    new = confuse_pairs(labels, names, 0.4, seed=0)
    assert set(new[(labels == 9) & (new != 9)].tolist()) == {1}
    assert set(new[(labels == 3) & (new != 3)].tolist()) == {5}
    assert bool((new[labels == 6] == 6).all())
    assert float((new != labels).float().mean()) == pytest.approx(0.2, abs=0.03)
    with pytest.raises(UserError, match="CIFAR-10's classes"):
        confuse_pairs(labels, list("abcdefghij"), 0.4, seed=0)


def test_noise_by_image_depends_on_the_image():
    images, labels = torch.rand(600, 3, 4, 4), torch.arange(600) % 3
    new = confuse_by_image(images, labels, 3, 0.3, seed=0)
    assert torch.equal(new, confuse_by_image(images, labels, 3, 0.3, seed=0))
    assert float((new != labels).float().mean()) == pytest.approx(0.3, abs=0.06)
    assert not torch.equal(new, confuse_by_image(images.flip(0), labels, 3, 0.3, seed=0))
