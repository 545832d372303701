import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metamixup.errors import UserError
from metamixup.mixing import sharpen, smoothed, soft_cross_entropy, soft_labels


def test_indices_become_rows_and_soft_labels_pass():
    assert torch.equal(soft_labels(torch.tensor([2, 0]), 3), torch.tensor([[0.0, 0, 1], [1, 0, 0]]))
    soft = torch.tensor([[0.5, 0.5]])
    assert torch.equal(soft_labels(soft, 2), soft)


@pytest.mark.parametrize("y", [torch.tensor([0, 3]), torch.tensor([-1, 0]), torch.ones(2, 2)])
def test_labels_outside_the_classes_are_refused(y):
    with pytest.raises(UserError, match=r"outside|soft labels are"):
        soft_labels(y, 3)


@given(seed=st.integers(0, 50))
def test_cross_entropy_is_linear_in_the_labels(seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    a, b = torch.softmax(torch.randn(2, 5, 4, generator=generator, dtype=torch.float64), -1)
    torch.testing.assert_close(
        soft_cross_entropy(logits, 0.3 * a + 0.7 * b),
        0.3 * soft_cross_entropy(logits, a) + 0.7 * soft_cross_entropy(logits, b),
    )


def test_sharpening_keeps_a_distribution_and_its_order():
    p = torch.tensor([[0.2, 0.5, 0.3]])
    sharp = sharpen(p, 0.5)
    torch.testing.assert_close(sharp, p**2 / (p**2).sum())
    torch.testing.assert_close(sharpen(p, 1.0), p)


def test_smoothing_spreads_a_share_over_all_classes():
    labels = torch.eye(4)
    assert smoothed(labels, 0.0) is labels
    torch.testing.assert_close(smoothed(labels, 0.2), 0.8 * labels + 0.05)


@pytest.mark.parametrize("row", [[float("nan"), 1.0, 0.0], [0.5, 0.2, 0.1], [1.5, -0.5, 0.0], [0.0, 0.0, 0.0]])
def test_soft_labels_that_are_no_distribution_are_refused(row):
    y = torch.tensor([[0.0, 1.0, 0.0], row])
    with pytest.raises(UserError, match="row 1 of 2"):
        soft_labels(y, 3)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64])
def test_rounding_is_no_mistake(kind):
    soft = torch.rand(200, 100).softmax(1).to(kind)
    assert soft_labels(soft, 100, kind).dtype == kind


def test_labels_and_logits_that_do_not_fit_are_told_in_words():
    with pytest.raises(UserError, match=r"labels are \(B,\) classes or \(B, 3\) floats, not \(4, 1\)"):
        soft_labels(torch.zeros(4, 1, dtype=torch.int64), 3)
    with pytest.raises(UserError, match="num_classes has to be the number of the model's outputs"):
        soft_cross_entropy(torch.zeros(4, 3), torch.full((4, 5), 0.2))
