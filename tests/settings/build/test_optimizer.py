import pytest
from torch import nn

from metamixup.methods.supervised import Supervised
from metamixup.settings.build.optimizer import build_average, build_lookahead, build_optimizer
from metamixup.settings.schema import OptimizerSettings


def network() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 2, 1, bias=True), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(2, 2))


def groups(slow: float = 1.0, **given):
    model = network()
    optimizer = build_optimizer(OptimizerSettings(lr=0.1, weight_decay=0.01, **given), model, Supervised(), slow)
    names = {id(p): name for name, p in model.named_parameters()}
    return {
        names[id(p)]: (pytest.approx(group["lr"]), pytest.approx(group["weight_decay"]))
        for group in optimizer.param_groups
        for p in group["params"]
    }


def test_one_rate_for_all_unless_asked():
    assert set(groups()) == {name for name, _ in network().named_parameters()}
    assert all(found == (0.1, 0.01) for found in groups().values())


def test_biases_of_norms_are_fast_and_decay_as_all_do():
    found = groups(norm_bias=64.0)
    assert found.pop("1.bias") == (6.4, 0.01 / 64)
    assert set(found) == {"0.weight", "0.bias", "1.weight", "3.weight", "3.bias"}
    assert all(rate == (0.1, 0.01) for rate in found.values())


def test_fast_biases_of_slow_layers():
    found = groups(slow=0.5, norm_bias=10.0)
    assert (found["1.bias"], found["0.weight"], found["3.bias"]) == ((0.5, 0.001), (0.05, 0.01), (0.1, 0.01))


def test_averages_are_made_on_demand():
    model = network()
    assert build_average(OptimizerSettings(), model) is None
    assert build_lookahead(OptimizerSettings(), model, 9) is None
    assert build_average(OptimizerSettings(ema=0.0), model) is not None
    assert build_lookahead(OptimizerSettings(lookahead=5), model, 9).every == 5
