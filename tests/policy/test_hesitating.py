import torch

from metamixup.mixing import Pairs
from metamixup.policy.hesitating import Hesitating


def pairs(n: int = 64) -> Pairs:
    return Pairs(torch.randperm(n), torch.eye(4)[torch.arange(n) % 4])


def shares(policy: Hesitating) -> list[float]:
    generator = torch.Generator().manual_seed(0)
    return [float((policy.draw(pairs(), generator) < 1).float().mean()) for _ in range(policy.steps)]


def test_all_blends_then_every_other_epoch_then_ever_fewer():
    found = shares(Hesitating(steps=100, steps_per_epoch=10))
    assert all(share == 1 for share in found[:60])
    assert found[60:70] == [1.0] * 10
    assert found[70:80] == [0.0] * 10
    assert found[80:90] == [1.0] * 10
    assert 0.4 < sum(found[90:]) / 10 < 0.7
    assert found[99] < 0.3


def test_it_goes_on_where_it_stopped():
    whole = shares(Hesitating(steps=40, steps_per_epoch=4))
    first, second = Hesitating(steps=40, steps_per_epoch=4), Hesitating(steps=40, steps_per_epoch=4)
    generator = torch.Generator().manual_seed(1)
    for _ in range(29):
        first.draw(pairs(), generator)
    second.load_state_dict(first.state_dict())
    assert second.blended(second.step) == Hesitating(steps=40, steps_per_epoch=4).blended(29) == whole[29]
