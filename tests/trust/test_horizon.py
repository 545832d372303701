import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metamixup.engine.schedule import Schedule
from metamixup.trust.horizon import Horizon


def seen(rate: Callable[[int], float], steps: int) -> Horizon:
    horizon = Horizon()
    for step in range(steps):
        horizon.see(rate(step))
    return horizon


@given(
    total=st.integers(100, 20_000),
    warmup=st.floats(0, 0.3),
    watched=st.floats(0.1, 0.9),
    peak=st.floats(1e-5, 10),
)
def test_a_cosine_tells_its_length_from_early_on(total: int, warmup: float, watched: float, peak: float):
    schedule = Schedule(total, "cosine", warmup=int(warmup * total))
    start = schedule.warmup + 20
    horizon = seen(lambda step: peak * schedule.factor(step), start + int(watched * (total - start)))
    assert horizon.total == pytest.approx(total, rel=0.06)


@given(total=st.integers(100, 20_000), warmup=st.floats(0, 0.3), watched=st.floats(0.1, 0.9))
def test_so_does_a_straight_line(total: int, warmup: float, watched: float):
    first = int(warmup * total)
    horizon = seen(
        lambda step: min((step + 1) / (first + 1), (total - step) / (total - first)),
        first + 20 + int(watched * (total - first - 20)),
    )
    assert horizon.total == pytest.approx(total, rel=0.06)


@pytest.mark.parametrize("epochs", [5, 12, 40])
def test_a_rate_that_changes_from_epoch_to_epoch_tells_too(epochs: int):
    """As torch's schedulers are mostly used."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    horizon = Horizon()
    for _ in range(3):
        for _ in range(50):
            horizon.see(optimizer.param_groups[0]["lr"])
            optimizer.step()
        scheduler.step()
    assert horizon.total == pytest.approx(50 * epochs, rel=0.1)


@pytest.mark.parametrize("shape", ["constant", "step"])
def test_a_rate_that_stays_or_jumps_tells_nothing(shape: str):
    schedule = Schedule(1000, shape, warmup=50, milestones=(0.3, 0.6, 0.9))
    assert seen(schedule.factor, 999).total == 0


def test_a_peak_that_comes_again_is_counted_from():
    """Warm restarts: what was told of the first fall is no longer true."""
    horizon = seen(lambda step: 0.5 * (1 + math.cos(math.pi * (step % 100) / 100)), 150)
    assert horizon.total == pytest.approx(200, abs=2)


def test_a_restored_horizon_goes_on_where_it_was():
    schedule, again = Schedule(500), Horizon()
    again.load_state_dict(seen(schedule.factor, 3).state_dict())
    for step in range(3, 60):
        again.see(schedule.factor(step))
    assert again.state_dict() == seen(schedule.factor, 60).state_dict()
