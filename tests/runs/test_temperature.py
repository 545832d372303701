"""Probabilities of new images are as large as test images were right."""

import pytest
import torch

from metamixup.runs.temperature import HOTTEST, temperature


def answers(right: int, wrong: int, classes: int = 4, sure: float = 12.0):
    """Logits that are equally sure of every answer, and labels of which so many are other ones."""
    n = right + wrong
    labels = torch.arange(n) % classes
    said = labels.clone()
    said[right:] = (said[right:] + 1) % classes
    return sure * torch.nn.functional.one_hot(said, classes).float(), labels


def told(logits, found):
    return float((logits / found).softmax(1).amax(1).mean())


@pytest.mark.parametrize(("right", "wrong"), [(15, 9), (300, 100), (90, 10)])
def test_as_sure_as_it_was_right(right, wrong):
    logits, labels = answers(right, wrong)
    found = temperature(logits, labels)
    assert found > 1
    assert told(logits, found) == pytest.approx((right + 1) / (right + wrong + 2), abs=2e-3)


def test_four_images_that_were_all_right_do_not_make_it_certain():
    logits, labels = answers(4, 0)
    assert told(logits, temperature(logits, labels)) == pytest.approx(5 / 6, abs=2e-3)


def test_one_that_is_not_too_sure_stays_as_it_is():
    assert temperature(*answers(400, 0, sure=2.0)) == 1


def test_one_that_is_never_right_is_as_unsure_as_can_be():
    assert temperature(*answers(0, 40)) == pytest.approx(HOTTEST, rel=1e-3)
