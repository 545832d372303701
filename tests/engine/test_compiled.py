import pytest
import torch
import torch.nn.functional as F
from torch import nn

from metamixup.engine.compiled import Compiled, WholePooling


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


def test_pooling_gives_its_indices_and_leaves_single_images_alone():
    x = torch.randn(2, 3, 8, 8)
    with WholePooling():
        values, indices = F.max_pool2d(x, 2, return_indices=True)
        single = nn.MaxPool2d(2)(x[0])
    assert torch.equal(values, F.max_pool2d(x, 2))
    assert indices.dtype == torch.int64
    assert torch.equal(single, values[0])


def test_the_compiler_is_given_the_pooling_as_one_operator(monkeypatch):
    graphs = []

    def look(graph, inputs):
        graphs.append(graph.code)
        return graph

    compile_ = torch.compile
    monkeypatch.setattr(torch, "compile", lambda net, dynamic, options: compile_(net, backend=look, dynamic=dynamic))
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2))
    x = torch.randn(2, 1, 8, 8)
    assert torch.equal(Compiled(net, pytest.fail)(x), net(x))
    assert any("metamixup.max_pool2d" in code for code in graphs)
