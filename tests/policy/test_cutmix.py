import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.errors import UserError
from metamixup.mixing import Pairs
from metamixup.policy import CutMix


def drawn(height: int, width: int, samples: int, seed: int, alpha: float = 1.0, per: str = "sample"):
    generator = torch.Generator().manual_seed(seed)
    policy = CutMix(alpha, per)
    pairs = Pairs(torch.randperm(samples, generator=generator), torch.eye(samples), image_size=(height, width))
    return policy.mixture(policy.draw(pairs, generator), pairs, generator)


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    samples=st.integers(1, 6),
    seed=st.integers(0, 10_000),
    per=st.sampled_from(["batch", "sample"]),
)
def test_every_pixel_is_of_one_sample_and_labels_follow_the_true_area(height, width, samples, seed, per):
    mixture = drawn(height, width, samples, seed, per=per)
    x = torch.arange(samples).float().view(-1, 1, 1, 1).expand(samples, 3, height, width)
    blended = mixture.inputs(x)
    assert blended.shape == x.shape
    labels = mixture.labels(torch.eye(samples))
    for i in range(samples):
        share = torch.stack([(blended[i, 0] == j).float().mean() for j in range(samples)])
        torch.testing.assert_close(labels[i], share)
        assert torch.equal(blended[i, 0], blended[i, 2])


def test_boxes_have_the_asked_area_when_they_fit():
    pairs = Pairs(torch.zeros(4000, dtype=torch.long), torch.zeros(4000, 1), image_size=(32, 32))
    mixture = CutMix().mixture(torch.full((4000,), 0.75), pairs, torch.Generator().manual_seed(0))
    # A quarter of 32×32 is a box of 16×16; border boxes are cut off, none is larger.
    assert mixture.lam.min().item() == pytest.approx(0.75)
    inner = mixture.keep[:, [0, -1], :].all((1, 2)) & mixture.keep[:, :, [0, -1]].all((1, 2))
    assert inner.float().mean() > 0.15
    assert torch.allclose(mixture.lam[inner], torch.tensor(0.75))


def test_lam_of_zero_and_one():
    pairs = Pairs(torch.tensor([1, 0]), torch.eye(2), image_size=(8, 8))
    mixture = CutMix().mixture(torch.tensor([1.0, 0.0]), pairs, torch.Generator().manual_seed(3))
    assert mixture.lam[0] == 1
    assert mixture.lam[1] < 1


def test_one_box_for_a_batch():
    mixture = drawn(16, 16, 6, seed=1, per="batch")
    assert all(torch.equal(mixture.keep[0], keep) for keep in mixture.keep)


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        drawn(8, 8, 2, seed=0).inputs(torch.zeros(2, 3, 9, 8))


def test_the_same_generator_gives_the_same_boxes():
    assert torch.equal(drawn(12, 9, 5, 7).keep, drawn(12, 9, 5, 7).keep)
    assert not torch.equal(drawn(12, 9, 5, 7).keep, drawn(12, 9, 5, 8).keep)


def test_there_are_no_boxes_of_what_is_no_image():
    policy, pairs = CutMix(), Pairs(torch.tensor([1, 0]), torch.eye(2))
    with pytest.raises(UserError, match="images"):
        policy.mixture(torch.tensor([0.5, 0.5]), pairs, torch.Generator())
