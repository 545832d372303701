import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metamixup.mixing import Mixture, Pairs, draw_partners, mix

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple)


@given(shape=shapes, seed=st.integers(0, 99), scalar=st.booleans())
def test_every_sample_is_its_own_blend(shape, seed, scalar):
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.rand(2, *shape, dtype=torch.float64, generator=generator)
    lam = torch.rand(() if scalar else shape[:1], dtype=torch.float64, generator=generator)
    before = a.clone(), b.clone(), lam.clone()
    blended = mix(a, b, lam)
    weights = lam.expand(shape[0])
    for i in range(shape[0]):
        torch.testing.assert_close(blended[i], weights[i] * a[i] + (1 - weights[i]) * b[i])
    assert all(torch.equal(x, y) for x, y in zip(before, (a, b, lam), strict=True))


@given(lam=st.sampled_from([0.0, 1.0]))
def test_the_ends_are_the_samples_themselves_to_the_bit(lam):
    a, b = torch.randn(2, 3, 4) * 1e3
    assert torch.equal(mix(a, b, lam), a if lam else b)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_sample_that_is_not_blended_takes_nothing_over_from_its_partner(bad):
    a, b = torch.randn(2, 4, 3)
    a[0], b[1], a[2, 0], b[2, 0] = bad, bad, bad, bad
    found = mix(a, b, torch.tensor([0.0, 1.0, 1.0, 0.3]))
    assert torch.equal(found[:2], torch.stack([b[0], a[1]]))
    torch.testing.assert_close(found[2], a[2], equal_nan=True)
    assert torch.equal(found[3], torch.lerp(b[3], a[3], 0.3)), "a blend is as ever"


def test_lambda_carries_a_gradient():
    lam = torch.tensor([0.3, 0.8], requires_grad=True)
    mix(torch.ones(2, 5), torch.zeros(2, 5), lam).sum().backward()
    assert torch.equal(lam.grad, torch.tensor([5.0, 5.0]))


def test_integers_are_refused_with_what_to_do():
    with pytest.raises(TypeError, match="soft_labels"):
        mix(torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64), 0.5)


def test_a_mixture_blends_inputs_and_labels_alike():
    x, y = torch.randn(4, 3, 2), torch.eye(4)
    mixture = Mixture(torch.tensor([1.0, 0.25, 0.5, 0.0]), torch.tensor([1, 2, 3, 0]))
    torch.testing.assert_close(mixture.inputs(x)[1], 0.25 * x[1] + 0.75 * x[2])
    torch.testing.assert_close(mixture.labels(y)[1], torch.tensor([0.0, 0.25, 0.75, 0.0]))
    assert torch.equal(mixture.labels(y)[3], y[0])


@given(sizes=st.lists(st.integers(0, 7), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_partners_keep_to_their_block(sizes, seed):
    partner = draw_partners(sizes, torch.Generator().manual_seed(seed))
    start = 0
    for size in sizes:
        assert sorted(partner[start : start + size].tolist()) == list(range(start, start + size))
        start += size


def test_labels_that_a_stage_knows_better_stand_in_for_the_given_ones():
    given, own = torch.eye(3), torch.eye(3)[[1, 2, 0]]
    mixture = Mixture(torch.tensor([1.0, 0.25, 0.0]), torch.tensor([1, 2, 0]), own_labels=own.double())
    expected = Mixture(mixture.lam, mixture.partner).labels(own)
    assert torch.equal(mixture.labels(given), expected)
    assert mixture.labels(given).dtype == given.dtype
    assert torch.equal(mixture.inputs(given), Mixture(mixture.lam, mixture.partner).inputs(given)), "inputs are as ever"


def test_some_samples_of_a_batch_alone_are_themselves_to_the_bit():
    x, y, rows = torch.randn(6, 3), torch.eye(6), torch.tensor([4, 1, 5])
    shown = Mixture.alone(rows, torch.rand(6))
    assert torch.equal(shown.inputs(x), x[rows])
    assert torch.equal(shown.labels(y), y[rows])
    part = Pairs(torch.randperm(6), y, torch.arange(10, 16)).of(rows)
    assert torch.equal(part.labels, y[rows])
    assert part.index.tolist() == [14, 11, 15]
