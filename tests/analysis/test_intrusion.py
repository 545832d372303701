import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.analysis.intrusion import least_distances, summary


def brute_force(mixed, pair, real, labels):
    out = []
    for m, (a, b) in zip(mixed.double(), pair.tolist(), strict=True):
        others = real.double()[(labels != a) & (labels != b)]
        out.append(float((others - m).norm(dim=1).min()) if len(others) else math.inf)
    return torch.tensor(out, dtype=torch.float64)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    m=st.integers(0, 40),
    n=st.integers(1, 60),
    d=st.integers(1, 33),
    classes=st.integers(1, 5),
    offset=st.sampled_from([0.0, 1.0, 1e3]),
    decimals=st.sampled_from([0, 1, 7]),
)
def test_equals_brute_force(seed, m, n, d, classes, offset, decimals):
    generator = torch.Generator().manual_seed(seed)
    # Rounded features make ties and exact hits; a large offset makes float32 products cancel.
    mixed = torch.randn(m, d, generator=generator).round(decimals=decimals) + offset
    real = torch.randn(n, d, generator=generator).round(decimals=decimals) + offset
    pair = torch.randint(0, classes, (m, 2), generator=generator)
    labels = torch.randint(0, classes, (n,), generator=generator)
    torch.testing.assert_close(least_distances(mixed, pair, real, labels), brute_force(mixed, pair, real, labels))


def test_blocks_meet_at_their_borders(monkeypatch):
    monkeypatch.setattr("metamixup.analysis.intrusion.BLOCK", 7)
    generator = torch.Generator().manual_seed(0)
    mixed, real = torch.randn(50, 16, generator=generator), torch.randn(101, 16, generator=generator)
    pair, labels = torch.randint(0, 4, (50, 2), generator=generator), torch.randint(0, 4, (101,), generator=generator)
    torch.testing.assert_close(least_distances(mixed, pair, real, labels), brute_force(mixed, pair, real, labels))


def test_near_duplicates_far_from_the_origin_are_told_apart():
    real = torch.full((3, 64), 10.0)
    real[0, 0] += 3e-3
    real[1, 0] += 1e-3
    real[2] += 50
    distance = least_distances(torch.full((1, 64), 10.0), torch.tensor([[8, 9]]), real, torch.tensor([0, 0, 1]))
    torch.testing.assert_close(float(distance), 1e-3, rtol=1e-3, atol=0)


def test_a_sample_of_the_same_label_does_not_count():
    mixed = torch.zeros(1, 2)
    real = torch.tensor([[0.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    assert least_distances(mixed, torch.tensor([[0, 1]]), real, torch.tensor([0, 1, 2])).tolist() == pytest.approx(
        [5.0]
    )


def test_summary_leaves_out_samples_that_meet_no_other_label():
    numbers = summary(torch.tensor([1.0, 3.0, math.inf], dtype=torch.float64))
    assert (numbers["mean"], numbers["minimum"], numbers["samples"], numbers["without"]) == (2.0, 1.0, 2, 1)
    assert summary(torch.tensor([math.inf])) == {"samples": 0, "without": 1}


def test_features_of_different_width_are_refused():
    with pytest.raises(ValueError, match="3 and 4 dimensions"):
        least_distances(torch.zeros(1, 3), torch.zeros(1, 2), torch.zeros(1, 4), torch.zeros(1))
