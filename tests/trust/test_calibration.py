import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.trust.calibration import calibrate, increasing


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_clean_data_is_trusted():
    for seed in range(10):
        scores = torch.randn(5000, generator=generator(seed))
        trust = calibrate(scores, torch.randn(100, generator=generator(seed + 99)))(scores)
        assert float(trust.mean()) > 0.85


def test_trust_is_the_share_of_right_labels_at_a_score():
    right, wrong = torch.randn(3000, generator=generator(0)) + 2, torch.randn(2000, generator=generator(1)) - 2
    curve = calibrate(torch.cat([right, wrong]), torch.randn(100, generator=generator(2)) + 2)
    assert float(curve(right).mean()) > 0.9
    assert float(curve(wrong).mean()) < 0.1


@settings(max_examples=50)
@given(seed=st.integers(0, 1000), n=st.integers(1, 200), m=st.integers(1, 60), ties=st.booleans())
def test_trust_is_an_increasing_probability_whatever_the_scores(seed, n, m, ties):
    scores, clean = torch.randn(n, generator=generator(seed)), torch.randn(m, generator=generator(seed + 1))
    if ties:
        scores, clean = scores.round(), clean.round()
    trust = calibrate(scores, clean)(torch.linspace(-5, 5, 50))
    assert bool(((trust >= 0) & (trust <= 1)).all())
    assert bool((trust.diff() >= -1e-6).all())


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_pooling_is_isotonic_regression(counts):
    values = torch.tensor([float(c) for c in counts])
    found, expected = increasing(values, torch.ones(len(counts)))
    fitted = found / expected
    assert bool((fitted.diff() >= -1e-6).all())
    # the known closed form: max over starts of min over ends of the mean between them
    n = len(counts)
    for i in range(n):
        best = max(min(float(values[a : b + 1].mean()) for b in range(i, n)) for a in range(i + 1))
        assert abs(float(fitted[i]) - best) < 1e-5


def test_what_chance_leaves_out_is_not_held_against_clean_data():
    """Most sets of a hundred clean images leave all of it trusted, and none much of it distrusted."""
    means = []
    for seed in range(40):
        scores = torch.randn(5000, generator=generator(seed))
        means.append(float(calibrate(scores, torch.randn(100, generator=generator(seed + 99)))(scores).mean()))
    assert sum(mean > 0.999 for mean in means) > 30
    assert min(means) > 0.85


def test_a_few_wrong_labels_among_many_are_found_all_the_same():
    right, wrong = torch.randn(4500, generator=generator(0)) + 2, torch.randn(500, generator=generator(1)) - 2
    curve = calibrate(torch.cat([right, wrong]), torch.randn(100, generator=generator(2)) + 2)
    assert float(curve(wrong).mean()) < 0.2
    assert float(curve(right).mean()) > 0.95
