import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.optim import lr_scheduler

from metamixup.engine.schedule import Schedule
from metamixup.trust.horizon import Horizon


def seen(rate: Callable[[int], float], steps: int) -> Horizon:
    horizon = Horizon()
    for step in range(steps):
        horizon.see(rate(step))
    return horizon


@given(total=st.integers(150, 20_000), warmup=st.floats(0, 0.3), watched=st.floats(0, 0.9), peak=st.floats(1e-5, 10))
def test_a_cosine_tells_its_length_from_early_on(total: int, warmup: float, watched: float, peak: float):
    schedule = Schedule(total, "cosine", warmup=int(warmup * total))
    start = schedule.warmup + 34
    horizon = seen(lambda step: peak * schedule.factor(step), start + int(watched * (total - start)))
    assert horizon.total == pytest.approx(total, rel=0.04)


@given(total=st.integers(100, 20_000), warmup=st.floats(0, 0.3), watched=st.floats(0.85, 0.99))
def test_so_does_a_straight_line_before_its_end(total: int, warmup: float, watched: float):
    first = int(warmup * total)
    horizon = seen(
        lambda step: min((step + 1) / (first + 1), (total - step) / (total - first)),
        first + int(watched * (total - first)),
    )
    assert horizon.total == pytest.approx(total, rel=0.04)


def by_torch(scheduler: Callable[[torch.optim.Optimizer], lr_scheduler.LRScheduler], epochs: int, each: int) -> Horizon:
    """A user's own loop of 50 steps an epoch; the rate changes after every `each` steps."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule, horizon = scheduler(optimizer), Horizon()
    for step in range(1, 50 * epochs + 1):
        horizon.see(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step % each == 0:
            schedule.step()
    return horizon


@pytest.mark.parametrize("epochs", [8, 12, 40])
def test_a_rate_that_changes_from_epoch_to_epoch_tells_too(epochs: int):
    """As torch's schedulers are mostly used."""
    horizon = by_torch(lambda o: lr_scheduler.CosineAnnealingLR(o, epochs), 5, each=50)
    assert horizon.total == pytest.approx(50 * epochs, rel=0.02)


def test_a_cycle_up_and_down_tells_its_end():
    steps = 50 * 20
    horizon = by_torch(lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=steps + 1), 12, each=1)
    assert horizon.total == pytest.approx(steps, rel=0.03)


@pytest.mark.parametrize(
    ("scheduler", "each"),
    [
        (lambda o: lr_scheduler.ConstantLR(o, 1.0), 50),
        (lambda o: lr_scheduler.MultiStepLR(o, [10, 20]), 50),
        (lambda o: lr_scheduler.StepLR(o, 1, 0.7), 50),
        (lambda o: lr_scheduler.StepLR(o, 2, 0.7), 50),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.85), 50),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.995), 1),
        (lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + 0.2 * epoch)), 50),
        (lambda o: lr_scheduler.LambdaLR(o, lambda step: min((step + 1) / 100, (100 / (step + 1)) ** 0.5)), 1),
        (lambda o: lr_scheduler.LambdaLR(o, lambda step: min(1, 1 - (step - 5) / 2000)), 1),
    ],
)
def test_other_rates_are_not_taken_for_short_runs(scheduler, each: int):
    for epochs in range(1, 40, 3):
        total = by_torch(scheduler, epochs, each).total
        assert total == 0 or total > 50 * 20


@pytest.mark.parametrize(
    "scheduler",
    [
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 250, 2),
        lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 100),
        lambda o: lr_scheduler.LinearLR(o, 1.0, 0.1, 250),
    ],
)
def test_what_was_told_wrongly_is_taken_back(scheduler):
    assert by_torch(scheduler, 20, each=1).total == 0


@given(st.lists(st.floats(-1, 1), max_size=60))
def test_no_rate_makes_it_fail(rates: list[float]):
    assert math.isfinite(seen(rates.__getitem__, len(rates)).total)


def test_a_restored_horizon_goes_on_where_it_was():
    schedule, again = Schedule(500), Horizon()
    again.load_state_dict(seen(schedule.factor, 20).state_dict())
    for step in range(20, 60):
        again.see(schedule.factor(step))
    assert again.total == pytest.approx(500, rel=0.02)
    assert again.state_dict() == seen(schedule.factor, 60).state_dict()
