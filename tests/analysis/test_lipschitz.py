import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from metamixup.analysis.lipschitz import (
    CERTIFIED_TOLERANCE,
    SEGMENT_TOLERANCE,
    bound,
    gap,
    second_derivative,
    segment_kappa,
    violations,
)
from metamixup.analysis.smooth import RoundedOff, TwoLayer


def network(seed, activation, scale=1.0):
    torch.manual_seed(seed)
    net = TwoLayer(6, 9, 3, activation()).double()
    for p in net.parameters():
        p.data.mul_(scale)
    return net


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    activation=st.sampled_from([nn.Softplus, nn.Tanh]),
    scale=st.floats(0.1, 20),
    spread=st.floats(0.01, 50),
)
def test_proposition_1_holds_with_the_certified_constant(seed, activation, scale, spread):
    net = network(seed, activation, scale)
    x, other = spread * torch.randn(2, 32, 6, dtype=torch.float64)
    lam = torch.rand(32, dtype=torch.float64)
    gaps, kappa = gap(net, x, other, lam), net.certified_kappa()
    assert violations(gaps, bound(kappa, x, other, lam), CERTIFIED_TOLERANCE) == 0
    # What is met along the segments can never exceed what is certified for all of space.
    assert (segment_kappa(net, x, other, points=5) <= kappa * (1 + 1e-9)).all()


def test_a_bound_that_is_too_small_is_caught():
    net = network(0, nn.Tanh, 3.0)
    x, other = torch.randn(2, 64, 6, dtype=torch.float64)
    lam = torch.full((64,), 0.5, dtype=torch.float64)
    tight = segment_kappa(net, x, other).amin()
    assert violations(gap(net, x, other, lam), bound(tight, x, other, lam), SEGMENT_TOLERANCE) > 0


def test_second_derivative_of_a_quadratic_is_exact():
    matrix = torch.randn(5, 5, dtype=torch.float64)
    direction = torch.randn(4, 5, dtype=torch.float64)
    got = second_derivative(lambda z: ((z @ matrix) * z).sum(1, keepdim=True), torch.zeros_like(direction), direction)
    torch.testing.assert_close(got, 2 * ((direction @ matrix) * direction).sum(1, keepdim=True))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.act = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(4 * 16, 3), nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return self.b(F.leaky_relu(self.pool(self.act(self.a(x))), 0.1).flatten(1))


def test_a_rounded_off_network_obeys_the_bound_along_its_segments():
    torch.manual_seed(0)
    net = Convolutional().double().eval()
    x, other = torch.randn(2, 24, 1, 8, 8, dtype=torch.float64)
    lam = torch.rand(24, dtype=torch.float64)
    with torch.no_grad(), RoundedOff(beta=10.0):
        kappa = segment_kappa(net, x, other)
        assert violations(gap(net, x, other, lam), bound(kappa, x, other, lam), SEGMENT_TOLERANCE) == 0
    assert (kappa > 0).all()


def test_rounding_off_tends_to_the_network_itself():
    torch.manual_seed(0)
    net, x = Convolutional().double(), torch.randn(5, 1, 8, 8, dtype=torch.float64)
    with RoundedOff(beta=1e4):
        rounded = net(x)
    torch.testing.assert_close(rounded, net(x), rtol=0, atol=5e-3)
    with RoundedOff(beta=2.0):
        assert (net(x) - rounded).abs().max() > 1e-2


def test_padded_pools_are_rounded_off_too():
    x = torch.randn(2, 3, 7, 7, dtype=torch.float64)
    with RoundedOff(beta=1e4):
        rounded = F.max_pool2d(x, 3, stride=2, padding=1)
    torch.testing.assert_close(rounded, F.max_pool2d(x, 3, stride=2, padding=1), rtol=0, atol=1e-3)


def test_an_activation_of_unknown_curvature_is_refused():
    with pytest.raises(ValueError, match="ReLU"):
        TwoLayer(2, 2, 2, nn.ReLU())
