import pytest
import torch

from metamixup import Beta
from metamixup.mixing import Pairs
from metamixup.policy.thinning import Settling

PAIRS = Pairs(torch.randperm(2000, generator=torch.Generator().manual_seed(0)), torch.zeros(2000, 3))


def blended(policy: Beta) -> float:
    lam = policy.draw(PAIRS, torch.Generator().manual_seed(1))
    return float(((lam > 0) & (lam < 1)).float().mean())


def test_fewer_pairs_are_blended_as_the_learning_rate_falls():
    policy = Beta(settle=0.5)
    for rate, expected in ((0.02, 1.0), (0.1, 1.0), (0.06, 1.0), (0.025, 0.5), (0.005, 0.1), (0.0, 0.0), (0.1, 1.0)):
        policy.see(rate)
        assert blended(policy) == pytest.approx(expected, abs=0.05), rate


def test_a_share_of_the_pairs_stays_as_it_is():
    policy = Beta(share=0.25)
    assert blended(policy) == pytest.approx(0.25, abs=0.04)
    lam = policy.draw(PAIRS, torch.Generator().manual_seed(1))
    assert set(lam[(lam == 0) | (lam == 1)].tolist()) == {1.0}, "the first sample of a pair that is not blended"


@pytest.mark.parametrize(("settle", "rates"), [(0.5, (0.0, 0.0)), (0.0, (0.1, 0.001)), (0.5, (0.1, 0.05))])
def test_blends_are_mixups_to_the_bit_until_the_rate_has_fallen_below_its_share(
    settle: float, rates: tuple[float, float]
):
    policy = Beta(settle=settle)
    for rate in rates:
        policy.see(rate)
    draw = [p.draw(PAIRS, torch.Generator().manual_seed(1)) for p in (policy, Beta())]
    assert torch.equal(*draw)


def test_what_settles_a_run_goes_on_after_a_restart():
    policy, again = Beta(settle=0.5), Beta(settle=0.5)
    for rate in (0.1, 0.02):
        policy.see(rate)
    again.load_state_dict(policy.state_dict())
    assert (again.settling.peak, again.settling.left) == (0.1, pytest.approx(0.4))
    again.load_state_dict({})


@pytest.mark.parametrize("make", [lambda: Beta(share=1.5), lambda: Beta(settle=-0.1), lambda: Settling(2)])
def test_shares_lie_between_0_and_1(make):
    with pytest.raises(ValueError, match=r"lies in \[0, 1\]"):
        make()
