import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from metamixup.meta.second_order import BatchNorm, Convolution, FastSecondDerivatives, Form


def second_derivative(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """What the exact estimator takes: the derivative in the input of ⟨∇θ, u⟩."""
    generator = torch.Generator().manual_seed(3)
    first = torch.autograd.grad(model(x).sin().sum(), list(model.parameters()), create_graph=True)
    along = [torch.randn(g.shape, generator=generator, dtype=g.dtype) for g in first]
    return torch.autograd.grad(first, x, along)[0]


def assert_as_torch(model: nn.Module, x: torch.Tensor) -> None:
    x = x.requires_grad_()
    expected = second_derivative(model, x)
    with FastSecondDerivatives():
        found = second_derivative(model, x)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 3),
    st.sampled_from([1, 2]),
    st.sampled_from([0, 1, "same", "valid"]),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.booleans(),
)
def test_convolutions_of_any_shape_have_torchs_second_derivative(dims, stride, padding, groups, bias, norm):
    torch.manual_seed(dims)
    conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
    bn = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dims - 1]
    stride = 1 if padding == "same" else stride
    layers = [
        conv(2, 4, 3, stride, padding, groups=groups, bias=bias),
        bn(4) if norm else nn.Identity(),
        nn.Tanh(),
        conv(4, 2, 2, bias=not bias),
    ]
    assert_as_torch(nn.Sequential(*layers).double(), torch.randn(3, 2, *[6] * dims, dtype=torch.float64))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_has_torchs_second_derivative(affine, training):
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(3, affine=affine)
    model = nn.Sequential(nn.Conv2d(2, 3, 1), norm, nn.Tanh(), nn.Flatten(), nn.Linear(48, 4), nn.BatchNorm1d(4))
    model = model.double().train(training)
    assert_as_torch(model, torch.randn(5, 2, 4, 4, dtype=torch.float64).contiguous(memory_format=torch.channels_last))


def test_weights_that_are_no_leaves_get_their_second_derivative_too():
    torch.manual_seed(0)
    x = torch.randn(3, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    w, b = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in [(4, 2, 3, 3), (4,)])
    form = Form([1, 1], [1, 1], [1, 1], 1)

    def convolve(x, w, b):
        return Convolution.apply(x, w * 1, b, form, True)

    assert gradcheck(convolve, (x, w, b))
    assert gradgradcheck(convolve, (x, w, b))
    w, b = (torch.randn(2, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def normalise(x, w, b):
        return BatchNorm.apply(x, w * 1, b, 1e-5)

    assert gradcheck(normalise, (x, w, b))
    assert gradgradcheck(normalise, (x, w, b))


def test_autocast_keeps_torchs_own():
    model, x = nn.Conv2d(2, 3, 3), torch.randn(2, 2, 5, 5)
    with FastSecondDerivatives(), torch.autocast("cpu", torch.bfloat16):
        assert model(x).dtype == torch.bfloat16


def test_both_kinds_of_layers_are_replaced_within_it():
    model, x = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)), torch.randn(2, 2, 5, 5, requires_grad=True)
    with FastSecondDerivatives():
        names = [type(model[0](x).grad_fn).__name__, type(model(x).grad_fn).__name__]
    assert names == ["ConvolutionBackward", "BatchNormBackward"]
