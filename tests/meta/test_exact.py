import copy

import torch
from meta.networks import Problem, relative_error, smooth_net
from torch import nn
from torch.optim import SGD

from metamixup.meta import Exact, FiniteDifference, Head, learning_rates


def test_equals_central_differences_of_the_whole_meta_objective():
    model, problem = smooth_net(), Problem()
    eta = learning_rates(model, 0.3)
    grad = Exact()(model, problem.loss, problem.meta_loss, problem.mixture, eta)
    assert relative_error(grad, problem.central_differences(model, eta)) < 1e-6


def test_each_parameter_group_looks_ahead_with_its_own_rate_and_frozen_ones_stay():
    model, problem = smooth_net(), Problem()
    model[0].requires_grad_(False)
    groups = [{"params": model[5].parameters(), "lr": 1.0}, {"params": model[8].parameters(), "lr": 0.05}]
    eta = learning_rates(model, SGD(groups, lr=0.1))
    assert eta["5.weight"] == 1.0
    assert eta["8.bias"] == 0.05
    assert eta["1.weight"] == 0.0, "a parameter that the optimizer leaves out stands still"
    assert "0.weight" not in eta, "a frozen parameter has no rate"
    grad = Exact()(model, problem.loss, problem.meta_loss, problem.mixture, eta)
    assert relative_error(grad, problem.central_differences(model, eta)) < 1e-6


def test_tied_weights_are_one_parameter():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(50, 50)
            self.second = nn.Linear(50, 50)
            self.second.weight = self.first.weight
            self.out = nn.Linear(50, 3)

        def forward(self, x):
            return self.out(torch.tanh(self.second(torch.tanh(self.first(x.flatten(1))))))

    torch.manual_seed(0)
    model, problem = Tied().double(), Problem()
    eta = learning_rates(model, 0.2)
    grad = Exact()(model, problem.loss, problem.meta_loss, problem.mixture, eta)
    assert relative_error(grad, problem.central_differences(model, eta)) < 1e-6


def test_a_module_with_two_names_keeps_its_own_tensors():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(50)
            self.again = self.norm
            self.out = nn.Linear(50, 3)

        def forward(self, x):
            return self.out(torch.tanh(self.again(torch.tanh(self.norm(x.flatten(1))))))

    torch.manual_seed(0)
    model, problem = Shared().double(), Problem()
    before = [id(tensor) for tensor in (*model.parameters(), *model.buffers())]
    eta = learning_rates(model, 0.2)
    grad = Exact()(model, problem.loss, problem.meta_loss, problem.mixture, eta)
    assert [id(tensor) for tensor in (*model.parameters(), *model.buffers())] == before
    assert int(model.norm.num_batches_tracked) == 0
    assert relative_error(grad, problem.central_differences(model, eta)) < 1e-6


def test_without_the_lookahead_the_direction_is_nearly_the_same():
    model, problem = smooth_net(), Problem()
    eta = learning_rates(model, 0.05)
    args = model, problem.loss, problem.meta_loss, problem.mixture, eta
    at_ahead, at_theta = Exact()(*args), Exact(lookahead=False)(*args)
    assert not torch.equal(at_ahead, at_theta)
    assert torch.cosine_similarity(at_ahead, at_theta, dim=0) > 0.9


def snapshot(model: nn.Module) -> dict:
    return {
        "state": copy.deepcopy(model.state_dict()),
        "grad": [None if p.grad is None else p.grad.clone() for p in model.parameters()],
        "mode": [m.training for m in model.modules()],
        "requires_grad": [p.requires_grad for p in model.parameters()],
        "random": torch.get_rng_state(),
    }


def test_every_estimator_leaves_the_model_as_it_found_it():
    problem = Problem()
    for estimator in (Exact(), Head(), FiniteDifference()):
        for training in (True, False):
            model = smooth_net(dropout=0.5).train(training)
            problem.loss(model, problem.mixture).backward()  # some .grad to be left alone
            before = snapshot(model)
            estimator(model, problem.loss, problem.meta_loss, problem.mixture, learning_rates(model, 0.1))
            after = snapshot(model)
            assert all(torch.equal(before["state"][k], after["state"][k]) for k in before["state"])
            assert all(torch.equal(a, b) for a, b in zip(before["grad"], after["grad"], strict=True))
            assert before["mode"] == after["mode"]
            assert before["requires_grad"] == after["requires_grad"]
            assert torch.equal(before["random"], after["random"])


def test_a_sample_paired_with_itself_has_no_gradient():
    model, problem = smooth_net(norm=False), Problem()
    problem.partner = torch.arange(len(problem.lam))
    grad = Exact()(model, problem.loss, problem.meta_loss, problem.mixture, learning_rates(model, 0.1))
    torch.testing.assert_close(grad, torch.zeros_like(grad), atol=1e-12, rtol=0)
