import pytest
import torch
import torch.nn.functional as F
from torch import nn

from metamixup.engine.compiled import Compiled, WholePooling
from metamixup.mixing import Mixture
from metamixup.mixing.at import mix_at


def test_a_network_that_cannot_be_compiled_goes_on_plainly(monkeypatch):
    def refuse(net, **options):
        def broken(*inputs):
            raise RuntimeError("no compiler here\nand more")

        return broken

    monkeypatch.setattr(torch, "compile", refuse)
    said = []
    net = Compiled(torch.nn.Identity(), said.append)
    assert net(torch.ones(2)).sum() == 2
    assert net(torch.ones(2)).sum() == 2
    assert said == ["going on without torch.compile: no compiler here"]


@pytest.mark.parametrize(
    "form", [(2,), (3, 2), (3, 2, 1), ((2, 3), (1, 2)), (2, 2, 0, 2), (3, 2, 1, 1, True)], ids=lambda form: str(form)
)
def test_pooling_is_torchs_own_with_its_gradient(form):
    x = torch.randn(2, 3, 9, 8, dtype=torch.float64, requires_grad=True)
    expected = F.max_pool2d(x, *form)
    with WholePooling():
        found = F.max_pool2d(x, *form)
    assert "max_pool2d" in type(found.grad_fn).__name__
    assert torch.equal(found, expected)
    weights = torch.randn_like(expected)
    assert torch.equal(*(torch.autograd.grad((y * weights).sum(), x)[0] for y in (found, expected)))


@pytest.fixture
def traced(monkeypatch):
    """torch.compile with a backend that keeps the graphs it is given and runs them as they are."""
    graphs, compile_ = [], torch.compile

    def look(graph, inputs):
        graphs.append(graph.code)
        return graph

    def traced_compile(net, dynamic, options):
        assert options == {"fallback_random": True}  # the seed means the same
        return compile_(net, backend=look, dynamic=dynamic)

    monkeypatch.setattr(torch, "compile", traced_compile)
    return graphs


def test_the_compiler_is_given_the_pooling_as_one_operator(traced):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2))
    x = torch.randn(2, 1, 8, 8)
    assert torch.equal(Compiled(net, pytest.fail)(x), net(x))
    assert any("metamixup.max_pool2d" in code for code in traced)


class Indexed(nn.Module):
    def forward(self, x):
        values, indices = F.max_pool2d(x, 2, return_indices=True)
        return values + indices


@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (3, 8, 8)])
@pytest.mark.parametrize("net", [Indexed(), nn.MaxPool2d(2)])
def test_indices_and_single_images_are_pooled_as_ever(traced, net, shape):
    x = torch.randn(shape)
    assert torch.equal(Compiled(net, pytest.fail)(x), net(x))


def test_hooks_that_come_and_go_are_seen(traced):
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    compiled, x = Compiled(net, pytest.fail), torch.randn(6, 3)
    mixture = Mixture(torch.rand(6), torch.arange(6).roll(1))
    before = compiled(x)
    with mix_at(net[0], mixture):
        assert torch.equal(compiled(x), net(x))
        assert not torch.equal(compiled(x), before)
    assert torch.equal(compiled(x), before)
    assert len(traced) == 1


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("backend='inductor' raised:\nNo C++ compiler\nmore"), "No C++ compiler"),
        (NotImplementedError(), "NotImplementedError"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_the_reason_is_told_once_and_the_plain_network_is_left_alone(monkeypatch, error, told, at_once):
    def fail(*inputs):
        raise error

    monkeypatch.setattr(torch, "compile", lambda net, **options: fail() if at_once else fail)
    said = []
    net = Compiled(nn.MaxPool2d(2), said.append)
    x = torch.randn(1, 1, 4, 4, requires_grad=True)
    assert "metamixup" not in type(net(x).grad_fn).__name__
    assert "metamixup" not in type(net(x).grad_fn).__name__
    assert said == [f"going on without torch.compile: {told}"]
