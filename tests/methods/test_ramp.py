import math

import pytest
import torch

from metamixup.methods.method import Batch
from metamixup.methods.ramp import Ramp


def at(progress: float, step: int = 0) -> Batch:
    return Batch(torch.zeros(1), torch.zeros(1), progress=progress, step=step)


def test_exponential_ramp_of_the_sources():
    ramp = Ramp("exponential", 0.4)
    assert ramp(at(0)) == pytest.approx(math.exp(-5))
    assert ramp(at(0.2)) == pytest.approx(math.exp(-5 * 0.25))
    assert ramp(at(0.4)) == ramp(at(1.0)) == 1


def test_linear_ramp_counts_steps_above_one():
    ramp = Ramp("linear", 16_384)
    assert ramp(at(0.99, step=0)) == 0
    assert ramp(at(0, step=8_192)) == 0.5
    assert ramp(at(0, step=20_000)) == 1


def test_no_ramp_is_one_from_the_start():
    assert Ramp()(at(0)) == 1
    assert Ramp("linear", 0)(at(0)) == 1


@pytest.mark.parametrize(("shape", "over"), [("sigmoid", 0.4), ("linear", -1)])
def test_bad_ramps_are_refused(shape, over):
    with pytest.raises(ValueError, match="a ramp"):
        Ramp(shape, over)
