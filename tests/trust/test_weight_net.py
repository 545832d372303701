import pytest
import torch
from meta.networks import Problem, smooth_net

from metamixup.mixing import Pairs
from metamixup.trust.weight_net import WeightNet


def pairs_of(problem: Problem) -> Pairs:
    return Pairs(torch.arange(len(problem.y)), problem.y, meta_labels=problem.y_meta)


def test_a_step_lowers_what_the_virtual_step_says_of_the_meta_loss():
    """Samples with a high loss harm the meta loss: their weights fall."""
    stage, losses = WeightNet(rate=0.01), torch.tensor([0.1, 0.2, 3.0, 4.0])
    before = stage.weights(losses)
    for _ in range(50):
        stage.learn(losses, torch.tensor([1.0, 1.0, -1.0, -1.0]))
    after = stage.weights(losses)
    assert float(after.sum()) == pytest.approx(1, abs=1e-5)
    assert float(after[2:].sum()) < float(before[2:].sum()) - 0.1


def test_the_gradient_is_that_of_the_normalised_weights():
    stage, losses, gain = WeightNet(), torch.rand(6), torch.randn(6)
    first = next(stage.net.parameters())
    start, step = first.detach().clone(), 1e-3

    def ahead() -> float:
        return -float((stage.weights(losses) * gain).sum())

    stage.learn(losses, gain)
    gradient = first.grad[3, 0].clone()
    with torch.no_grad():
        values = []
        for sign in (1, -1):
            stage = WeightNet()
            next(stage.net.parameters())[3, 0] += sign * step
            values.append(ahead())
    assert float(gradient) == pytest.approx((values[0] - values[1]) / (2 * step), rel=0.05, abs=1e-5)
    assert not torch.equal(first, start)


def test_weights_add_up_to_one_and_the_state_goes_on_to_the_bit():
    model, problem, generator = smooth_net(), Problem(), torch.Generator()
    stage, other = WeightNet(), WeightNet()

    def step(one: WeightNet):
        return one(model, problem.loss, problem.meta_loss, pairs_of(problem), {}, generator).lam

    assert float(step(stage).sum()) == pytest.approx(1, abs=1e-5)
    other.load_state_dict(stage.state_dict())
    assert torch.equal(step(stage), step(other))
    assert torch.equal(step(stage), step(other))


def test_a_meta_loss_that_is_not_finite_teaches_nothing():
    model, problem = smooth_net(), Problem()
    problem.x[0] = float("nan")
    stage = WeightNet()
    before = [p.detach().clone() for p in stage.net.parameters()]
    lam = stage(model, problem.loss, problem.meta_loss, pairs_of(problem), {}, torch.Generator()).lam
    assert stage.ignored == 1
    assert bool(lam.isfinite().all())
    assert all(torch.equal(a, b) for a, b in zip(before, stage.net.parameters(), strict=True))
