import copy
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metamixup.errors import UserError
from metamixup.methods.adamixup import AdaMixUp
from metamixup.methods.batch_norm import frozen_statistics
from metamixup.mixer import MetaMixUp
from metamixup.models.pretrained import parameter_groups
from metamixup.network import (
    NextPass,
    captured_inputs,
    classifier_name,
    find_classifier,
    fragile,
    known_classifier,
    logits_of,
    network,
)


class OutFirst(nn.Module):
    """Declares the layer that it ends in first: declared last and called last are two layers."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 3)
        self.hidden = nn.Linear(4, 6)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def test_the_layer_that_is_called_last_is_the_classifier_for_everyone():
    model, x, y = OutFirst(), torch.randn(5, 4), torch.arange(5) % 3
    assert find_classifier(model, lambda net: net(x)) == "out"
    head, backbone = parameter_groups(model, lr=0.1, slow=0.5)
    assert {id(p) for p in head["params"]} == {id(p) for p in model.out.parameters()}
    assert {id(p) for p in backbone["params"]} == {id(p) for p in model.hidden.parameters()}
    method = AdaMixUp()
    method.setup(model)
    assert method.classifier is model.out
    mixed = MetaMixUp(model, 3, mix_at="features", policy="beta")(x, y, lr=0.1)
    assert mixed.point.module is model.out


def test_without_a_forward_pass_several_linear_layers_are_not_told_apart():
    with pytest.raises(UserError, match="several linear layers"):
        parameter_groups(OutFirst(), lr=0.1)
    assert classifier_name(nn.Sequential(nn.Flatten(), nn.Linear(4, 2))) == "1"


def test_it_is_looked_for_once_a_model():
    model, calls = OutFirst(), []

    def forward(net):
        calls.append(1)
        return net(torch.ones(2, 4))

    assert find_classifier(model, forward) == "out"
    passes = len(calls)
    assert [find_classifier(model, forward) for _ in range(3)] == ["out"] * 3
    assert len(calls) == passes
    assert not any(m._forward_hooks for m in model.modules())
    assert find_classifier(nn.Tanh(), lambda net: net(torch.zeros(1))) is None


class Wired(nn.Module):
    """A body, a head of three classes and another linear layer, as `wire(self, features)` puts them together."""

    def __init__(self, wire):
        super().__init__()
        self.body, self.head, self.other = nn.Linear(4, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.wire = wire

    def forward(self, x):
        return self.wire(self, torch.tanh(self.body(x)))


WIRED = {
    "an auxiliary layer runs last": (lambda m, f: (m.head(f), m.other(f)), "head"),
    "and is an object's": (lambda m, f: SimpleNamespace(logits=m.head(f), projection=m.other(f)), "head"),
    "a softmax follows": (lambda m, f: m.head(f).softmax(1), "head"),
    "a scale follows": (lambda m, f: 10 * m.head(f), "head"),
    "changed in place": (lambda m, f: m.head(f).mul_(10), "head"),
    "a sum of two": (lambda m, f: m.head(f) + m.other(f), None),
    "a way around it": (lambda m, f: m.head(f) + f, None),
    "cosines": (lambda m, f: f / f.norm(dim=1, keepdim=True) @ m.weight, None),
    "a gate": (lambda m, f: m.other(f).sigmoid() * f @ m.weight, None),
}


@pytest.mark.parametrize(("wire", "expected"), WIRED.values(), ids=WIRED.keys())
def test_the_classifier_is_what_all_of_the_logits_is_made_of(wire, expected):
    model, x, y = Wired(wire), torch.randn(5, 4), torch.arange(5) % 3
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    assert find_classifier(model, lambda net: cross_entropy(logits_of(net(x)), y)) == expected
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())
    assert not any(module._forward_hooks for module in model.modules())


def test_it_is_looked_for_anew_where_it_is_gone():
    model, x = Wired(lambda m, f: m.head(f)), torch.randn(5, 4)
    assert find_classifier(model, lambda net: net(x)) == "head"
    del model.head
    assert known_classifier(model) is None
    model.fresh, model.wire = nn.Linear(3, 7), lambda m, f: m.fresh(f)
    assert find_classifier(model, lambda net: net(x)) == "fresh"
    assert known_classifier(model) is model.fresh


def test_a_model_that_bears_no_other_weights_ends_in_what_is_called_last():
    def wire(model, features):
        if float(model.body.bias.detach().max()) > 0.05:
            raise ValueError("unlikely weights")
        return model.head(features)

    model, x = Wired(wire), torch.randn(5, 4)
    nn.init.zeros_(model.body.bias)
    assert find_classifier(model, lambda net: net(x)) == "head"


def test_a_network_on_copies_of_its_buffers_is_the_one_that_methods_use():
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))
    x = torch.randn(7, 4)
    ours, methods = network(model, dict(model.named_parameters())), frozen_statistics(model)
    assert torch.equal(ours(x), methods(x))
    methods(x).sum().backward()
    assert model[0].weight.grad is not None
    assert int(model[1].num_batches_tracked) == 0
    assert not network(model, {})(x).requires_grad


def test_inputs_of_a_module_are_captured():
    model, x = OutFirst(), torch.randn(2, 4)
    with captured_inputs(model.hidden) as inputs:
        model(x)
        model(-x)
    model(x)
    assert len(inputs) == 2
    assert torch.equal(inputs[1], -x)


def test_the_next_pass_on_certain_inputs_is_told_of_once_and_leaves_no_hook():
    model, x, told = nn.Sequential(nn.Linear(4, 3), nn.Softmax(1)), torch.randn(5, 4), []
    NextPass(model, model[0], lambda: [x], told.append)
    model(x.clone())
    assert not told
    model(input=x)
    model(x)
    assert len(told) == 1
    assert torch.equal(told[0], model[0](x)), "of the layer, not of the model"
    assert not told[0].requires_grad
    assert not any(module._forward_hooks for module in model.modules())


def test_copies_and_files_do_not_carry_the_hooks_of_the_next_pass(tmp_path):
    model, x, told = nn.Linear(4, 3), torch.randn(5, 4), []
    NextPass(model, model, lambda: [x], told.append)
    torch.save(model, tmp_path / "model.pt")
    for other in (copy.deepcopy(model), torch.load(tmp_path / "model.pt", weights_only=False)):
        assert torch.equal(other(x), nn.functional.linear(x, model.weight, model.bias))
    assert not told
    model(x)
    assert told


def test_compiled_and_transformed_passes_are_not_told_of():
    model, x, told, compiled = nn.Linear(4, 3), torch.randn(5, 4), [], []

    def backend(graph, _):
        compiled.append(graph)
        return graph.forward

    fast = torch.compile(model, backend=backend, fullgraph=True)
    for _ in range(6):
        hook = NextPass(model, model, lambda: [x], told.append)
        fast(x)
        torch.func.grad(lambda w: torch.func.functional_call(model, {"weight": w}, (x,)).sum())(model.weight)
        hook.remove()
    assert not told
    assert len(compiled) <= 2


def test_a_deep_network_without_normalisation_is_fragile():
    layers = [nn.Linear(4, 4) for _ in range(5)]
    assert fragile(nn.Sequential(*layers))
    assert not fragile(nn.Sequential(*layers, nn.LayerNorm(4)))
    assert not fragile(nn.Sequential(*layers[:3])), "a shallow one leaves chance by itself"
