import pytest
import torch
from meta.networks import Problem, smooth_net

from metamixup.meta import Exact, MetaStage, learning_rates
from metamixup.mixing import Pairs
from metamixup.policy import Beta, Fixed, Learned


def run(stage: MetaStage, problem: Problem, seed: int = 0):
    model = smooth_net()
    return stage(
        model,
        problem.loss,
        problem.meta_loss,
        Pairs(problem.partner, problem.y),
        learning_rates(model, 0.3),
        torch.Generator().manual_seed(seed),
    )


def test_algorithm_1_line_by_line():
    problem = Problem()
    stage = MetaStage(Learned(step_size=2.0, projection="clip", normalise=False), Exact())
    mixture = run(stage, problem)
    lam = Beta(1.0).draw(Pairs(problem.partner, problem.y), torch.Generator().manual_seed(0))  # line 2
    problem.lam = lam.double()
    model = smooth_net()
    grad = problem.central_differences(model, learning_rates(model, 0.3))  # lines 3–6, the plain way
    torch.testing.assert_close(mixture.lam.double(), (lam - 2.0 * grad).clamp(0, 1), atol=1e-5, rtol=1e-4)
    assert torch.equal(mixture.partner, problem.partner)
    assert not mixture.lam.requires_grad


def test_a_plain_policy_asks_for_no_meta_batch():
    problem = Problem()
    problem.meta_loss = None  # would fail if it were called
    assert run(MetaStage(Fixed(0.25)), problem).lam.tolist() == [0.25] * 8


def test_lambda_is_refined_on_every_kth_step_only():
    class Counting:
        calls = 0

        def __call__(self, model, loss, meta_loss, mixture, eta):
            self.calls += 1
            return torch.zeros_like(mixture.lam)

    estimator = Counting()
    stage = MetaStage(Learned(), estimator, every=3)
    due = []
    for _ in range(7):
        due.append(stage.due)
        run(stage, Problem())
    assert due == [True, False, False, True, False, False, True]
    assert estimator.calls == 3
    other = MetaStage(Learned(), estimator, every=3)
    other.load_state_dict(stage.state_dict())
    assert other.steps == 7


def test_a_learned_policy_without_an_estimator_is_refused():
    with pytest.raises(ValueError, match="needs an estimator"):
        MetaStage(Learned())
    with pytest.raises(ValueError, match="k ≥ 1"):
        MetaStage(Learned(), Exact(), every=0)
