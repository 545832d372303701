import copy

import pytest
import torch
from toys import batch, generator, images, step, trained

from metamixup.methods.batch_norm import frozen_statistics, predict
from metamixup.methods.vat import VAT, adversarial, divergence, entropy, unit


def raised(net, x, r):
    return divergence(predict(net, x), frozen_statistics(net)(x + r)).item()


@pytest.mark.parametrize("xi", [1e-6, 1e-2])
@pytest.mark.parametrize("training", [True, False])
def test_the_perturbation_raises_the_divergence_more_than_random_ones(xi, training):
    model, (x, _) = trained().train(training), images(32, 11)
    r = adversarial(frozen_statistics(model), x, predict(model, x), generator(), epsilon=0.5, xi=xi, iterations=1)
    torch.testing.assert_close(r.flatten(1).norm(dim=1), torch.full((32,), 0.5))
    noise = [0.5 * unit(torch.randn(x.shape, generator=generator(seed))) for seed in range(10)]
    assert raised(model, x, r) > 1.5 * max(raised(model, x, n) for n in noise)


def test_the_power_iteration_finds_the_steepest_direction_of_a_linear_net():
    weight = torch.randn(16, 2, dtype=torch.float64, generator=generator())
    x = images(6, 3)[0].double()

    def linear(x):
        return x.flatten(1) @ weight

    r = adversarial(linear, x, linear(x).softmax(1), generator(), epsilon=1.0, xi=1e-3, iterations=1)
    steepest = (weight[:, 0] - weight[:, 1]) / (weight[:, 0] - weight[:, 1]).norm()
    torch.testing.assert_close((r.flatten(1) @ steepest).abs(), torch.ones(6, dtype=torch.float64), atol=1e-4, rtol=0)


def test_mixed_precision_finds_the_same_perturbation():
    model, b = trained(), batch()
    whole = VAT().prepare(model, b, generator())
    with torch.autocast("cpu", torch.bfloat16):
        mixed = VAT().prepare(model, b, generator())
    assert torch.equal(whole.perturbation, mixed.perturbation)


def test_preparing_leaves_the_model_and_its_gradients_alone():
    model = trained()
    model.zero_grad()
    before = copy.deepcopy(model.state_dict())
    VAT().prepare(model, batch(), generator())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_running_statistics_never_see_the_perturbed_samples():
    method, model = VAT(epsilon=100.0), trained()
    data, mixture = step(method, model, batch())
    reference = copy.deepcopy(model)
    method.loss(model, data, mixture)
    reference(torch.cat([mixture.inputs(data.x), data.u]))
    assert torch.equal(model[1].running_var, reference[1].running_var)


def test_entropy_is_a_term_of_vat_em_alone():
    model = trained()
    for weight, names in ((0.0, {"supervised", "consistency"}), (0.1, {"supervised", "consistency", "entropy"})):
        method = VAT(entropy_weight=weight)
        assert set(method.loss(model, *step(method, model, batch()))) == names


def test_entropy_of_known_distributions():
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [100.0, 0.0, 0.0, 0.0]])
    torch.testing.assert_close(entropy(logits[:1]), torch.tensor(4.0).log())
    assert entropy(logits[1:]) < 1e-6


def test_unit_of_tiny_and_zero_tensors():
    tiny = torch.full((1, 4), 1e-30)
    torch.testing.assert_close(unit(tiny), torch.full((1, 4), 0.5))
    assert torch.equal(unit(torch.zeros(1, 4)), torch.zeros(1, 4))


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"xi": -1.0}, {"iterations": 0}])
def test_bad_perturbations_are_refused(bad):
    with pytest.raises(ValueError, match="VAT needs"):
        VAT(**bad)
