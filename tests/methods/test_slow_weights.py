import copy

import torch
from toys import net

from metamixup.methods.slow_weights import DECAY, SlowWeights


def moved(model, amount):
    with torch.no_grad():
        for p in model.parameters():
            p.add_(amount)


def test_weights_and_statistics_jump_to_their_average_on_every_second_step():
    model = net()
    slow = SlowWeights(model, every=2, steps=100)
    before = copy.deepcopy(model.state_dict())
    moved(model, 1.0)
    model[1].running_mean += 1.0
    slow.update(model, 50)  # the 51st step
    torch.testing.assert_close(model[0].weight, before["0.weight"] + 1)
    slow.update(model, 51)
    left = 1 - DECAY * 0.51**3
    torch.testing.assert_close(model[0].weight, before["0.weight"] + left)
    torch.testing.assert_close(model[1].running_mean, before["1.running_mean"] + left)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), slow.module.parameters(), strict=True))
    assert all(p.requires_grad for p in model.parameters())


def test_the_average_forgets_the_start_and_remembers_the_end():
    slow = SlowWeights(net(), every=5, steps=1000)
    assert slow.decay_at(0) == 0
    assert 0.9 * DECAY < slow.decay_at(999) < DECAY


def test_the_last_step_ends_on_the_average():
    model = net()
    slow = SlowWeights(model, every=5, steps=7)
    moved(model, 1.0)
    slow.update(model, 6)
    assert torch.equal(model[0].weight, slow.module[0].weight)
