import pytest
import torch
from toys import net

from metamixup.methods.ema import EMA


def changed(model, amount):
    with torch.no_grad():
        for p in model.parameters():
            p.add_(amount)


@pytest.mark.parametrize("warmup", [False, True])
def test_average_equals_the_closed_form(warmup):
    model = net().double()
    ema = EMA(model, 0.95, warmup)
    values = [model[0].weight.detach().clone()]
    for step in range(20):
        changed(model, 0.1 * (step + 1))
        values.append(model[0].weight.detach().clone())
        ema.update(model, step)
    decays = [min(0.95, (1 + t) / (10 + t)) if warmup else 0.95 for t in range(20)]
    # θ̄_T = (Π d) θ_0 + Σ_t (1−d_t) (Π_{s>t} d_s) θ_{t+1}
    expected, left = torch.zeros_like(values[0]), 1.0
    for value, d in zip(reversed(values[1:]), reversed(decays), strict=True):
        expected += (1 - d) * left * value
        left *= d
    expected += left * values[0]
    torch.testing.assert_close(ema.module[0].weight, expected, rtol=1e-12, atol=1e-12)


def test_buffers_are_the_students_and_nothing_is_shared():
    model = net()
    ema = EMA(model, 0.9)
    model(torch.randn(8, 1, 4, 4))
    ema.update(model, 0)
    assert torch.equal(ema.module[1].running_mean, model[1].running_mean)
    assert ema.module[1].running_mean.data_ptr() != model[1].running_mean.data_ptr()
    assert not any(p.requires_grad for p in ema.module.parameters())


def test_warmup_forgets_the_random_start():
    model = net()
    slow, warm = EMA(model, 0.999, warmup=False), EMA(model, 0.999)
    changed(model, 10.0)
    for step in range(30):
        slow.update(model, step)
        warm.update(model, step)
    distance = [(e.module[0].weight - model[0].weight).abs().max().item() for e in (slow, warm)]
    assert distance[0] > 9
    assert distance[1] < 0.01


@pytest.mark.parametrize("decay", [-0.1, 1.0])
def test_decay_outside_its_range_is_refused(decay):
    with pytest.raises(ValueError, match="decay"):
        EMA(net(), decay)
