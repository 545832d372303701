"""What must hold for every method with unlabelled data."""

import copy

import pytest
import torch
from toys import batch, generator, images, methods, net, step

from metamixup.meta import Exact, Head, learning_rates
from metamixup.methods.semi_supervised import SemiSupervised
from metamixup.mixing import Mixture, soft_cross_entropy, soft_labels

NAMES = list(methods())


@pytest.mark.parametrize("name", NAMES)
def test_each_term_moves_the_student_and_none_the_teacher(name):
    method, model = methods()[name], net()
    method.setup(model)
    data, mixture = step(method, model, batch())
    for term, value in method.loss(model, data, mixture).items():
        model.zero_grad()
        value.backward(retain_graph=True)
        moved = sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)
        assert moved > 0, f"{term} of {name} trains nothing"
    for module in method.modules().values():
        assert all(p.grad is None and not p.requires_grad for p in module.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_loss_is_a_pure_function_of_any_callable(name):
    method, model = methods()[name], net()
    method.setup(model)
    data, mixture = step(method, model, batch())
    functional = copy.deepcopy(model)
    outside = method.loss(lambda x: functional(x), data, mixture)
    first, second = method.loss(model, data, mixture), method.loss(model, data, mixture)
    for term in first:
        assert torch.equal(first[term], second[term])
        assert torch.equal(first[term], outside[term])


@pytest.mark.parametrize("name", NAMES)
def test_preparing_leaves_the_model_alone(name):
    method, model = methods()[name], net()
    method.setup(model)
    before = copy.deepcopy(model.state_dict())
    prepared = method.prepare(model, batch(), generator())
    assert all(torch.equal(before[n], value) for n, value in model.state_dict().items())
    assert not prepared.guesses.requires_grad
    assert set(method.records()) >= {"ramp"}


@pytest.mark.parametrize("estimator", [Exact(), Head()], ids=["exact", "head"])
@pytest.mark.parametrize("name", ["pseudo-label", "apl", "mixmatch"])
def test_lambda_of_both_blocks_is_learned(name, estimator):
    """Line 11 of Algorithm 2: the meta loss after the virtual step depends on all 2B coefficients."""
    method, model = methods()[name], net()
    method.setup(model)
    data, mixture = step(method, model, batch())
    x, y = images(9, 4)

    def loss(virtual, mixture):
        return sum(method.loss(virtual, data, mixture).values())

    def meta_loss(virtual):
        return soft_cross_entropy(virtual(x), soft_labels(y, 3))

    grad = estimator(model, loss, meta_loss, mixture, learning_rates(model, 0.1))
    n = len(data.x)
    assert (grad[:n] != 0).any()
    assert (grad[n:] != 0).any()


def test_exact_gradient_of_algorithm_2_agrees_with_differences():
    method, model = methods()["pseudo-label"], net().double()
    data = batch()
    data = type(data)(
        **{k: v.double() if torch.is_tensor(v) and v.is_floating_point() else v for k, v in vars(data).items()}
    )
    data, mixture = step(method, model, data)
    x, y = images(9, 4)
    lam = mixture.lam.double()

    def loss(virtual, mixture):
        return sum(method.loss(virtual, data, mixture).values())

    def after_step(lam):
        virtual = copy.deepcopy(model)
        total = loss(virtual, Mixture(lam, mixture.partner))
        grads = torch.autograd.grad(total, list(virtual.parameters()))
        with torch.no_grad():
            for p, g in zip(virtual.parameters(), grads, strict=True):
                p -= 0.1 * g
        return soft_cross_entropy(virtual(x.double()), soft_labels(y, 3)).item()

    def meta_loss(virtual):
        return soft_cross_entropy(virtual(x.double()), soft_labels(y, 3))

    grad = Exact()(model, loss, meta_loss, Mixture(lam, mixture.partner), learning_rates(model, 0.1))
    for i in (0, 3, 7, 10):
        nudge = torch.zeros_like(lam)
        nudge[i] = 1e-5
        difference = (after_step(lam + nudge) - after_step(lam - nudge)) / 2e-5
        assert grad[i].item() == pytest.approx(difference, rel=1e-3, abs=1e-8)


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="at least 0"):
        SemiSupervised(-1.0, ramp=None)
