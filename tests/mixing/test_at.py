import pytest
import torch
from torch import nn
from torch.func import functional_call

from metamixup.errors import UserError
from metamixup.mixer.mixed import outputs
from metamixup.mixing import Mixture, mix
from metamixup.mixing.at import BlendPoint, mix_at


@pytest.fixture
def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


@pytest.fixture
def mixture() -> Mixture:
    return Mixture(torch.tensor([0.2, 0.7, 1.0]).double().requires_grad_(), torch.tensor([2, 0, 1]))


def test_the_output_of_the_module_is_blended_and_nothing_else(net, mixture):
    x = torch.randn(3, 3).double()
    hidden = net[1](net[0](x))
    expected = net[2](mix(hidden, hidden[mixture.partner], mixture.lam))
    with mix_at(net[1], mixture):
        torch.testing.assert_close(net(x), expected)
    torch.testing.assert_close(net(x), net[2](hidden))


def test_it_works_with_other_parameters_and_gives_lam_a_gradient(net, mixture):
    x = torch.randn(3, 3).double()
    doubled = {name: 2 * p for name, p in net.named_parameters()}
    with mix_at(net[0], mixture):
        called = functional_call(net, doubled, (x,))
    hidden = 2 * net[0](x)
    expected = 2 * net[2](net[1](mix(hidden, hidden[mixture.partner], mixture.lam)))
    torch.testing.assert_close(called, expected)
    (grad,) = torch.autograd.grad(called.square().sum(), mixture.lam)
    assert (grad != 0).all()


def test_an_error_inside_leaves_no_hook(net, mixture):
    with pytest.raises(RuntimeError), mix_at(net[0], mixture):
        net(torch.randn(3, 99).double())
    assert not net[0]._forward_hooks


def test_an_output_that_is_no_tensor_is_named(mixture):
    recurrent = nn.LSTM(3, 4, batch_first=True).double()
    with pytest.raises(TypeError, match="LSTM puts out a tuple"), mix_at(recurrent, mixture):
        recurrent(torch.zeros(3, 5, 3).double())


def test_a_blend_point_is_the_input_or_what_a_module_gives_or_is_given(net, mixture):
    x = torch.randn(3, 3).double()
    hidden = net[1](net[0](x))
    blended = net[2](mix(hidden, hidden[mixture.partner], mixture.lam))
    torch.testing.assert_close(outputs(net, x, mixture, BlendPoint(net[1]), 3), blended)
    torch.testing.assert_close(outputs(net, x, mixture, BlendPoint(net[2], before=True), 3), blended)
    torch.testing.assert_close(outputs(net, x, mixture, BlendPoint(), 3), net(mixture.inputs(x)))
    assert not net[2]._forward_pre_hooks


def test_other_inputs_of_the_module_pass_unblended(mixture):
    module, x = nn.Bilinear(3, 3, 2).double(), torch.randn(3, 3).double()
    with mix_at(module, mixture, before=True):
        torch.testing.assert_close(module(x, x), module.forward(mixture.inputs(x), x))


def test_a_hidden_state_without_a_row_a_sample_is_refused(mixture):
    flatten = nn.Flatten(0)
    with pytest.raises(UserError, match=r"has \(9,\) for a batch of 3"), mix_at(flatten, mixture):
        flatten(torch.zeros(3, 3).double())
