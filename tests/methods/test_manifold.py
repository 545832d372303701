from collections import Counter

import pytest
import torch
from torch import nn

from metamixup.errors import UserError
from metamixup.meta import Exact
from metamixup.methods.manifold import Manifold, StagedBatch
from metamixup.methods.method import Batch
from metamixup.methods.supervised import Supervised
from metamixup.mixing import Mixture, soft_labels
from metamixup.models import build
from metamixup.seeding import derived_generator


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return build("preact-resnet8", 10, 1, 8)


@pytest.fixture
def batch() -> Batch:
    torch.manual_seed(1)
    return Batch(torch.randn(6, 1, 8, 8), soft_labels(torch.arange(6), 10))


@pytest.fixture
def mixture() -> Mixture:
    return Mixture(torch.rand(6), torch.randperm(6))


def ready(model: nn.Module, *stages: str) -> Manifold:
    method = Manifold(stages)
    method.setup(model)
    return method


def test_the_input_and_the_first_two_stages_are_drawn_about_equally(model, batch):
    method = ready(model)
    drawn = Counter(method.prepare(model, batch, derived_generator(0, "prepare", t)).stage for t in range(300))
    assert set(drawn) == {"input", "stages.layer1", "stages.layer2"}
    assert min(drawn.values()) > 70


def test_at_the_input_it_is_mixup(model, batch, mixture):
    staged = StagedBatch(**{**vars(batch), "stage": "input"})
    assert torch.equal(
        ready(model).loss(model, staged, mixture)["supervised"],
        Supervised().loss(model, batch, mixture)["supervised"],
    )


def test_inside_it_blends_that_stage(model, batch, mixture):
    method = ready(model)
    staged = StagedBatch(**{**vars(batch), "stage": "stages.layer1"})
    stem, layer1, *rest = model.stages
    model.eval()
    hidden = mixture.inputs(layer1(stem(batch.x)))
    for stage in rest:
        hidden = stage(hidden)
    logits = model.classifier(hidden)
    expected = -(mixture.labels(batch.y) * logits.log_softmax(1)).sum(1).mean()
    torch.testing.assert_close(method.loss(model, staged, mixture)["supervised"], expected)


def test_a_learned_lam_reaches_through_the_stage(model, batch, mixture):
    method = ready(model)
    staged = StagedBatch(**{**vars(batch), "stage": "stages.layer2"})
    grad = Exact()(
        model,
        lambda net, mixture: method.loss(net, staged, mixture)["supervised"],
        lambda net: net(batch.x).square().mean(),
        mixture,
        {name: 0.1 for name, _ in model.named_parameters()},
    )
    assert (grad != 0).all()


def test_models_that_name_no_stages_need_them_named(batch, mixture):
    plain = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with pytest.raises(UserError, match="mixable"):
        ready(plain)
    with pytest.raises(UserError, match="unknown stage '7'"):
        ready(plain, "7")
    method = ready(plain, "0")
    staged = StagedBatch(**{**vars(batch), "stage": "0"})
    at_input = Supervised().loss(plain, batch, mixture)["supervised"]
    torch.testing.assert_close(method.loss(plain, staged, mixture)["supervised"], at_input)
