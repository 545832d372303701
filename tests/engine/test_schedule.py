import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metamixup.engine.schedule import SHAPES, Schedule


def test_cosine_falls_from_one_to_nearly_zero():
    schedule = Schedule(steps=100)
    factors = [schedule.factor(k) for k in range(100)]
    assert factors[0] == 1.0
    assert factors[50] == pytest.approx(0.5)
    assert all(a > b for a, b in pairwise(factors))
    assert 0 < factors[-1] < 1e-3


def test_a_triangle_rises_to_the_peak_and_falls_to_its_end():
    schedule = Schedule(steps=100, shape="triangular")
    factors = [schedule.factor(k) for k in range(101)]
    assert factors[0] == pytest.approx(0.2)
    assert max(factors) == factors[23] == pytest.approx(1.0)
    assert factors[100] == pytest.approx(0.07)
    assert all(a < b for a, b in pairwise(factors[:24]))
    assert all(a > b for a, b in pairwise(factors[23:]))


@pytest.mark.parametrize("epochs", [10, 20, 200, 600])
def test_milestones_are_whole_epochs_where_the_share_is(epochs):
    steps_per_epoch = 7
    schedule = Schedule(epochs * steps_per_epoch, "step", milestones=(0.3, 0.6, 0.9), gamma=0.1)
    drop = 3 * epochs // 10 * steps_per_epoch
    assert schedule.factor(drop - 1) == 1.0
    assert schedule.factor(drop) == pytest.approx(0.1)
    assert schedule.factor(epochs * steps_per_epoch - 1) == pytest.approx(1e-3)


def test_warm_up_is_linear_and_reaches_the_full_rate():
    schedule = Schedule(steps=20, warmup=4)
    assert [schedule.factor(k) for k in range(5)] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])


@given(st.integers(1, 500), st.sampled_from(SHAPES), st.integers(0, 600), st.lists(st.floats(0, 1), max_size=4))
def test_factors_stay_within_zero_and_one(steps, shape, warmup, milestones):
    schedule = Schedule(steps, shape, warmup, tuple(milestones))
    assert all(0 <= schedule.factor(k) <= 1 and math.isfinite(schedule.factor(k)) for k in range(steps + 1))


def test_every_group_keeps_its_own_rate():
    a, b = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b], "lr": 0.1}])
    schedule = Schedule(steps=10)
    for step in (0, 3, 5, 5):  # asking twice for a step changes nothing
        assert schedule.apply(optimizer, step) == pytest.approx(schedule.factor(step))
        assert optimizer.param_groups[1]["lr"] == pytest.approx(0.1 * schedule.factor(step))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tuned_end_begins_again_and_the_rest_keeps_its_shape(shape):
    whole, tuned = Schedule(90, shape, 5, (0.5,)), Schedule(100, shape, 5, (0.5,), tuned=10)
    assert [tuned.factor(k) for k in range(90)] == [whole.factor(k) for k in range(90)]
    assert [tuned.factor(k) for k in (90, 95, 100)] == pytest.approx([1.0, 0.5, 0.0])
