"""The public class beyond class labels and inputs: regression, several labels a sample, blends inside the model."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from metamixup import Exact, Learned, MetaMixUp, Persistent, Trust
from metamixup.errors import UserError
from metamixup.mixing import Mixture
from metamixup.mixing.at import mix_at

ESTIMATORS = ["exact", "head", "finite_difference"]


def net(outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, outputs))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("loss", "shape"),
    [(F.mse_loss, (7, 2)), (F.l1_loss, (7, 2)), (F.binary_cross_entropy_with_logits, (7, 2)), (nn.HuberLoss(), (7, 2))],
)
def test_regression_and_several_labels(loss, shape, estimator):
    model, y = net(shape[1]), (torch.rand(shape) > 0.5).float()
    mixed = MetaMixUp(model, None, loss=loss, estimator=estimator)(torch.randn(7, 5), y, torch.randn(3, 5), y[:3], lr=1)
    torch.testing.assert_close(mixed.y, mixed.mixture.labels(y))
    assert torch.isfinite(mixed.lam).all()


def test_scalar_regression_targets_keep_their_shape():
    model, y = nn.Sequential(net(1), nn.Flatten(0)), torch.randn(7)
    mixed = MetaMixUp(model, None, loss=F.mse_loss)(torch.randn(7, 5), y, torch.randn(3, 5), y[:3], lr=1)
    assert mixed.y.shape == (7,)


@pytest.mark.parametrize("mix_at_name", ["0", "1", "features"])
def test_the_gradient_of_lambda_inside_the_model_is_that_of_central_differences(mix_at_name):
    torch.manual_seed(0)
    model, eta = net(2).double(), 0.3
    x, y, x_meta, y_meta = (torch.randn(4, n, dtype=torch.float64) for n in (5, 2, 5, 2))
    partner, lam = torch.tensor([1, 2, 3, 0]), torch.rand(4, dtype=torch.float64)
    module, before = (model[2], True) if mix_at_name == "features" else (model.get_submodule(mix_at_name), False)

    def train_loss(call, mixture):
        with mix_at(module, mixture, before):
            return F.mse_loss(call(x), mixture.labels(y))

    def after_the_step(lam):
        grads = torch.autograd.grad(train_loss(model, Mixture(lam, partner)), list(model.parameters()))
        names = [name for name, _ in model.named_parameters()]
        theta = {n: p - eta * g for n, p, g in zip(names, model.parameters(), grads, strict=True)}
        return F.mse_loss(torch.func.functional_call(model, theta, (x_meta,)), y_meta)

    rates = {name: eta for name, _ in model.named_parameters()}
    grad = Exact()(model, train_loss, lambda call: F.mse_loss(call(x_meta), y_meta), Mixture(lam, partner), rates)
    steps = 1e-5 * torch.eye(4, dtype=torch.float64)
    central = [(after_the_step(lam + e) - after_the_step(lam - e)) / 2e-5 for e in steps]
    torch.testing.assert_close(grad, torch.stack(central).detach(), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_tokens_are_blended_at_their_embedding(estimator):
    model = nn.Sequential(nn.Embedding(11, 6), nn.Flatten(), nn.Linear(24, 3))
    tokens, y = torch.randint(0, 11, (5, 4)), torch.randint(0, 3, (5,))
    mixer = MetaMixUp(model, 3, mix_at="0", estimator=estimator)
    mixed = mixer(tokens, y, tokens, y, lr=0.1)
    loss = F.cross_entropy(mixed.outputs(model), mixed.y)
    loss.backward()
    embedded = model[0](tokens)
    torch.testing.assert_close(mixed.outputs(model), model[1:](mixed.mixture.inputs(embedded)))
    with pytest.raises(UserError, match=r"use mixed\.outputs\(model\)"):
        _ = mixed.x
    with pytest.raises(UserError, match="name of their embedding"):
        MetaMixUp(model, 3)(tokens, y, tokens, y, lr=0.1)


def test_outputs_at_the_input_is_the_plain_call_and_features_are_found():
    model, x, y = net(3), torch.randn(6, 5), torch.randint(0, 3, (6,))
    mixed = MetaMixUp(model, 3)(x, y, x, y, lr=0.1)
    assert torch.equal(mixed.outputs(model), model(mixed.x))
    features = MetaMixUp(model, 3, mix_at="features", policy=Learned())(x, y, x, y, lr=0.1)
    torch.testing.assert_close(features.outputs(model), model[2](features.mixture.inputs(model[:2](x))))
    assert not model[2]._forward_pre_hooks


class Wired(nn.Module):
    def __init__(self, wire):
        super().__init__()
        self.body, self.out, self.unused, self.wire = nn.Linear(5, 5), nn.Linear(5, 3), nn.Linear(5, 5), wire

    def forward(self, x):
        return self.wire(self, x)


@pytest.mark.parametrize(
    ("name", "times"),
    [("unused", 0), ("body", 2)],
)
@pytest.mark.parametrize("policy", ["beta", "learned"])
def test_a_blend_point_that_a_pass_does_not_meet_once_is_told(name, times, policy):
    model = Wired(lambda m, x: m.out(m.body(m.body(x))))
    x, y = torch.randn(6, 5), torch.randint(0, 3, (6,))
    mixer = MetaMixUp(model, 3, mix_at=name, policy=policy)
    with pytest.raises(UserError, match=f"at Linear, but a pass calls it {times} times"):
        mixer(x, y, x, y, lr=0.1).outputs(model)


def test_a_blend_point_that_is_replaced_is_found_again_and_one_that_is_gone_is_told():
    model, x, y = Wired(lambda m, x: m.out(m.body(x))), torch.randn(6, 5), torch.randint(0, 3, (6,))
    mixer = MetaMixUp(model, 3, mix_at="body", policy="beta")
    mixer(x, y, lr=0.1)
    model.body = nn.Linear(5, 5)
    mixed = mixer(x, y, lr=0.1)
    torch.testing.assert_close(mixed.outputs(model), model.out(mixed.mixture.inputs(model.body(x))))
    del model.body
    with pytest.raises(UserError, match="unknown module 'body'"):
        mixer(x, y, lr=0.1)


def test_says_what_does_not_hold():
    model, x = net(2), torch.randn(4, 5)
    with pytest.raises(UserError, match="give the loss"):
        MetaMixUp(model, None)
    with pytest.raises(UserError, match="give num_classes if they are classes"):
        MetaMixUp(model, None, loss=F.mse_loss)(x, torch.zeros(4, dtype=torch.long), lr=0.1)
    with pytest.raises(UserError, match="nll_loss does not take blended targets"):
        MetaMixUp(model, 2, loss=F.nll_loss)(x, torch.zeros(4).long(), x, torch.zeros(4).long(), lr=0.1)
    with pytest.raises(UserError, match="Trust learns by class"):
        MetaMixUp(model, None, loss=F.mse_loss, policy=Trust())
    with pytest.raises(UserError, match="Persistent learns by class"):
        MetaMixUp(model, None, loss=F.mse_loss, policy=Persistent())
    MetaMixUp(model, None, loss=F.mse_loss, policy=Persistent("data"))(x, x[:, :2], x, x[:, :2], lr=0.1)
    with pytest.raises(UserError, match="unknown module 'feature'; did you mean 'features'"):
        MetaMixUp(model, 2, mix_at="feature")


def test_a_meta_set_of_a_few_samples_and_batches_of_all_sizes():
    """With few meta samples a step may owe none of them a visit."""
    torch.manual_seed(0)
    model, x, y = net(3), torch.randn(60, 5), torch.arange(60) % 3
    mixer = MetaMixUp(model, 3)
    for step in range(12):
        for rows in torch.randperm(60).split(32):
            meta = torch.randperm(6)[: 1 + step % 6]
            mixed = mixer(x[rows], y[rows], x[meta], y[meta], lr=0.1, index=rows, meta_index=meta)
            assert torch.isfinite(mixed.lam).all()
