import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.mixing import Pairs
from metamixup.policy import PROJECTIONS, Beta, Fixed, Learned
from metamixup.policy.learned import descend, unit_rms


def pairs(n: int) -> Pairs:
    return Pairs(torch.arange(n), torch.eye(3)[torch.arange(n) % 3])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_fixed_lambda_is_fixed():
    assert Fixed(0.3).draw(pairs(5), generator()).tolist() == pytest.approx([0.3] * 5)
    with pytest.raises(ValueError, match="λ lies in"):
        Fixed(1.2)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_beta_has_the_moments_of_beta(alpha):
    lam = Beta(alpha).draw(pairs(40_000), generator())
    assert float(lam.mean()) == pytest.approx(0.5, abs=0.01)
    assert float(lam.var()) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.05)


@given(alpha=st.sampled_from([1e-8, 1e-3, 0.1, 50.0]), seed=st.integers(0, 20))
def test_beta_stays_in_the_unit_interval_for_any_alpha(alpha, seed):
    lam = Beta(alpha).draw(pairs(64), generator(seed))
    assert bool(((lam >= 0) & (lam <= 1)).all())


def test_a_tiny_alpha_is_a_fair_coin():
    lam = Beta(1e-9).draw(pairs(4000), generator())
    assert set(lam.tolist()) == {0.0, 1.0}
    assert 0.4 < float(lam.mean()) < 0.6


def test_per_batch_is_one_lambda_and_per_sample_many():
    assert Beta(1.0, per="batch").draw(pairs(50), generator()).unique().numel() == 1
    assert Beta(1.0).draw(pairs(50), generator()).unique().numel() > 40
    with pytest.raises(ValueError, match="per"):
        Beta(1.0, per="epoch")
    with pytest.raises(ValueError, match="α > 0"):
        Beta(0)


def test_the_paper_to_the_letter_is_a_sigmoid_of_lambda():
    lam, grad = torch.tensor([0.0, 0.5, 1.0]), torch.tensor([0.0, 0.1, -0.2])
    torch.testing.assert_close(Learned.paper().refine(lam, grad, pairs(3)), torch.sigmoid(lam - 5 * grad))


def test_clip_is_algorithm_1_clamped():
    policy = Learned(step_size=2.0, projection="clip", normalise=False)
    lam, grad = torch.tensor([0.5, 0.5, 0.5]), torch.tensor([0.1, 9.0, -9.0])
    torch.testing.assert_close(policy.refine(lam, grad, pairs(3)), torch.tensor([0.3, 0.0, 1.0]))


def test_logit_takes_its_step_on_w():
    policy = Learned(step_size=1.5, projection="logit", normalise=False)
    w = torch.tensor([-1.0, 0.3, 2.0], requires_grad=True)
    lam = torch.sigmoid(w)
    grad = torch.tensor([0.4, -0.2, 1.0])
    lam.backward(grad)
    torch.testing.assert_close(policy.refine(lam, grad, pairs(3)), torch.sigmoid(w - 1.5 * w.grad).detach())


@settings(max_examples=60)
@given(
    projection=st.sampled_from(PROJECTIONS),
    normalise=st.booleans(),
    scale=st.sampled_from([0.0, 1e-12, 1e-3, 1e6]),
    seed=st.integers(0, 50),
)
def test_refined_lambda_is_a_weight_and_never_climbs_the_meta_loss(projection, normalise, scale, seed):
    lam = torch.rand(9, generator=generator(seed))
    lam[:2] = torch.tensor([0.0, 1.0])
    grad = scale * torch.randn(9, generator=generator(seed + 1))
    refined = descend(lam, grad, 1.0, projection, normalise)
    assert bool(((refined >= 0) & (refined <= 1)).all())
    start = torch.sigmoid(lam) if projection == "paper" else lam
    assert float(((refined - start) * grad).sum()) <= 1e-6 * max(1.0, scale)


@pytest.mark.parametrize("projection", ["clip", "logit"])
def test_a_zero_gradient_gives_a_zero_step(projection):
    lam = torch.tensor([0.0, 0.2, 1.0])
    assert torch.equal(descend(lam, torch.zeros(3), 5.0, projection, True), lam)


def test_unit_rms():
    assert math.isclose(float(unit_rms(torch.tensor([3.0, -4.0, 1e-9])).square().mean()), 1.0, rel_tol=1e-6)
    assert torch.equal(unit_rms(torch.zeros(4)), torch.zeros(4))


def test_an_unknown_projection_is_refused():
    with pytest.raises(ValueError, match="paper, clip, logit"):
        Learned(projection="sigmoid")
