import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metamixup.engine.evaluate import calibration_error, scores


def slow_calibration_error(probabilities, labels, bins=15):
    """Guo et al. to the letter: bins ((m−1)/M, m/M], sample by sample."""
    n, total = len(labels), 0.0
    for m in range(bins):
        low, high = m / bins, (m + 1) / bins
        inside = [
            (max(p), p.index(max(p)) == y)
            for p, y in zip(probabilities, labels, strict=True)
            if low < max(p) <= high or (m == 0 and max(p) == 0)
        ]
        if inside:
            confidence = sum(c for c, _ in inside) / len(inside)
            accuracy = sum(right for _, right in inside) / len(inside)
            total += len(inside) / n * abs(accuracy - confidence)
    return total


@given(st.integers(1, 60), st.integers(2, 12), st.integers(0, 10_000), st.floats(0.1, 20))
def test_ece_equals_the_slow_reference(n, classes, seed, scale):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(n, classes, generator=generator, dtype=torch.float64)
    labels = torch.randint(classes, (n,), generator=generator)
    p = logits.softmax(1)
    assert calibration_error(p, labels) == pytest.approx(slow_calibration_error(p.tolist(), labels.tolist()), abs=1e-9)


def test_ece_of_sure_and_right_is_zero_and_of_sure_and_wrong_is_one():
    p = torch.eye(4, dtype=torch.float64)
    assert calibration_error(p, torch.arange(4)) == 0
    assert calibration_error(p, (torch.arange(4) + 1) % 4) == 1


def test_scores_by_hand():
    logits = torch.tensor([[3.0, 1, 0, 0, 0, 0], [3, 2, 1, 0.5, 0.4, 0.3], [0, 9, 0, 0, 0, 0], [6, 5, 4, 3, 2, 1]])
    found = scores(logits, torch.tensor([0, 1, 1, 5]))
    assert found["error"] == 50
    assert found["error_top5"] == 25
    expected = -sum(float(logits[k].log_softmax(0)[y]) for k, y in enumerate([0, 1, 1, 5])) / 4
    assert found["nll"] == pytest.approx(expected, rel=1e-6)


def test_two_classes_have_a_top_five_error_of_zero():
    assert scores(torch.randn(9, 2), torch.randint(2, (9,)))["error_top5"] == 0


def test_huge_logits_stay_finite():
    found = scores(torch.tensor([[1e30, -1e30], [1e4, 0]]), torch.tensor([0, 0]))
    assert all(math.isfinite(value) for value in found.values())
