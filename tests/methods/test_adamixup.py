import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from metamixup.errors import UserError
from metamixup.methods.adamixup import AdaMixUp
from metamixup.methods.batch_norm import frozen_statistics
from metamixup.methods.method import Batch
from metamixup.mixing import soft_labels
from metamixup.models import build
from metamixup.policy import Beta
from metamixup.seeding import derived_generator


def toy(discriminate: bool = True, samples: int = 8, name: str = "cnn-bn") -> tuple[nn.Module, AdaMixUp, Batch]:
    torch.manual_seed(0)
    model = build(name, 4, 1, 8)
    method = AdaMixUp(discriminate)
    method.setup(model)
    batch = Batch(torch.randn(samples, 1, 8, 8), soft_labels(torch.arange(samples) % 4, 4), torch.arange(samples))
    return model, method, method.prepare(model, batch, derived_generator(0, "prepare", 0))


def losses(model: nn.Module, method: AdaMixUp, batch: Batch) -> dict[str, torch.Tensor]:
    pairs = method.pairs(batch, derived_generator(0, "partners", 0))
    policy = Beta(1.0)
    mixture = policy.mixture(policy.draw(pairs, derived_generator(0, "lam", 0)), pairs, derived_generator(0, "mix", 0))
    return method.loss(model, batch, mixture)


def has_gradient(module: nn.Module) -> bool:
    return all(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())


def test_generator_discriminator_and_classifier_all_receive_gradient():
    model, method, batch = toy()
    sum(losses(model, method, batch).values()).backward()
    assert set(method.modules()) == {"generator", "discriminator"}
    # The very first weights are tiny, so that gradients through both small layers exist but are small.
    assert has_gradient(method.modules()["discriminator"])
    assert all(p.grad.abs().sum() > 0 for p in method.modules()["generator"].classifier.parameters())
    assert has_gradient(model)


def test_features_of_16_bits_reach_the_discriminator():
    """As the engine runs a model: what the method itself computes is not cast."""
    model, method, batch = toy()

    def in_16_bits(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return model(x).float()

    sum(losses(in_16_bits, method, batch).values()).backward()
    assert has_gradient(method.modules()["discriminator"])


@pytest.mark.parametrize("term", ["supervised", "discriminator"])
def test_each_term_alone_moves_the_model_and_the_generator(term):
    model, method, batch = toy()
    losses(model, method, batch)[term].backward()
    assert model.stages.conv1[0].weight.grad.abs().sum() > 0
    assert method.modules()["generator"].stages.conv1[0].weight.grad.abs().sum() > 0


def test_without_the_discriminator_only_the_classifier_judges():
    model, method, batch = toy(discriminate=False)
    terms = losses(model, method, batch)
    assert set(terms) == {"supervised"}
    assert set(method.modules()) == {"generator"}
    terms["supervised"].backward()
    assert method.modules()["generator"].classifier[0].weight.grad.abs().sum() > 0


@settings(max_examples=25, deadline=None)
@given(samples=st.integers(1, 9), sharpness=st.floats(0, 50))
def test_lam_lies_in_its_region_and_the_region_in_the_unit_interval(samples, sharpness):
    model, method, batch = toy(samples=samples)
    nn.init.normal_(method.modules()["generator"].classifier[1].weight, std=sharpness)
    pairs = method.pairs(batch, derived_generator(0, "partners", 0))
    mixture = Beta(1.0).mixture(torch.rand(len(pairs.partner)), pairs, derived_generator(0, "mix", 0))
    model.eval()
    for module in method.modules().values():
        module.eval()
    a, b, c = method.regions(batch, pairs.partner).unbind(1)
    method.loss(model, batch, mixture)
    lam = method.recorded(mixture).lam
    assert ((lam >= a - 1e-6) & (lam <= a + b + 1e-6)).all()
    assert ((a >= 0) & (a + b <= 1 + 1e-6)).all()
    torch.testing.assert_close(a + b + c, torch.ones(len(a)))


@pytest.mark.parametrize("samples", [1, 2, 3, 7])
def test_small_and_odd_batches_give_finite_losses(samples):
    model, method, batch = toy(samples=samples, name="cnn3")
    assert all(value.isfinite() for value in losses(model, method, batch).values())


def test_pairs_stay_within_the_first_half():
    _, method, batch = toy(samples=7)
    pairs = method.pairs(batch, derived_generator(0, "partners", 0))
    assert pairs.partner.sort().values.tolist() == [0, 1, 2, 3]
    assert pairs.labels.shape == (4, 4)
    assert pairs.index.tolist() == [0, 1, 2, 3]


def test_the_gates_are_normal_and_cut_at_two_deviations():
    model, method, _ = toy()
    large = Batch(torch.zeros(200, 1, 16, 16), torch.zeros(200, 4))
    gates = method.prepare(model, large, derived_generator(0, "prepare", 0)).gates
    assert gates.abs().max() <= 2
    assert gates.mean().abs() < 0.02
    assert gates.std().item() == pytest.approx(0.8796, abs=0.01)


def test_the_classifiers_loss_is_over_blends_and_originals_alike():
    model, method, batch = toy(discriminate=False, name="cnn3")
    model.eval()
    pairs = method.pairs(batch, derived_generator(0, "partners", 0))
    mixture = Beta(1.0).mixture(torch.rand(4), pairs, derived_generator(0, "mix", 0))
    torch.manual_seed(5)  # the generator's dropout
    value = method.loss(model, batch, mixture)["supervised"]
    used = method.recorded(mixture)
    x, y = batch.x[:4], batch.y[:4]
    blended = -(used.labels(y) * model(used.inputs(x)).log_softmax(1)).sum(1)
    original = -(y * model(x).log_softmax(1)).sum(1)
    torch.testing.assert_close(value, torch.cat([blended, original]).mean())


def test_loss_is_a_pure_function_of_the_model_and_its_functional_forms():
    model, method, batch = toy(name="cnn-bn")
    functional = frozen_statistics(model)
    first, again, outside = (losses(net, method, batch) for net in (model, model, functional))
    for term, value in first.items():
        assert torch.equal(value, again[term])
        assert torch.equal(value, outside[term])


def test_any_model_with_a_linear_end_serves_and_others_are_named():
    plain = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
    method = AdaMixUp()
    method.setup(plain)
    batch = method.prepare(plain, Batch(torch.randn(4, 1, 8, 8), torch.eye(4)), derived_generator(0, "prepare", 0))
    assert all(value.isfinite() for value in losses(plain, method, batch).values())
    with pytest.raises(UserError, match="Conv2d has no linear layer"):
        AdaMixUp().setup(nn.Conv2d(1, 4, 8))
