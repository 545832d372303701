import pytest
import torch

from metamixup.mixing import Pairs
from metamixup.trust.amount import Amount


def test_fewer_pairs_are_blended_as_the_learning_rate_falls():
    pairs = Pairs(torch.randperm(2000), torch.zeros(2000, 3), torch.arange(2000))

    def blended(amount: Amount) -> float:
        generator = torch.Generator().manual_seed(1)
        lam = amount.thinned(torch.rand(2000, generator=generator), pairs, generator)
        return float(((lam > 0) & (lam < 1)).float().mean())

    amount = Amount()
    for rate, expected in ((0.02, 1.0), (0.1, 1.0), (0.06, 1.0), (0.025, 0.5), (0.005, 0.1), (0.0, 0.0), (0.1, 1.0)):
        amount.see(rate)
        assert blended(amount) == pytest.approx(expected, abs=0.05), rate


@pytest.mark.parametrize(("settle", "rates"), [(0.5, (0.0, 0.0)), (0.0, (0.1, 0.001)), (0.5, (0.1, 0.05))])
def test_it_blends_as_mixup_does_until_the_rate_has_fallen_below_its_share(settle: float, rates: tuple[float, float]):
    amount = Amount(settle)
    for rate in rates:
        amount.see(rate)
    assert amount.share == 1


def test_what_settles_a_run_goes_on_after_a_restart():
    amount, again = Amount(), Amount()
    for rate in (0.1, 0.02):
        amount.see(rate)
    again.load_state_dict(amount.state_dict())
    assert (again.peak, again.share) == (0.1, pytest.approx(0.4))
