"""The slots that timm's and torchvision's loops have; neither library is installed beside this build of torch."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metamixup import MetaMixUp
from metamixup.errors import UserError
from metamixup.integrations.batch_transform import MixUp, Mixup

X, Y = torch.randn(12, 1, 4, 4), torch.arange(12) % 3


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))


def options(model):
    return {"meta": (X, Y), "lr": torch.optim.SGD(model.parameters(), lr=0.1)}


def test_timms_slot():
    model = net()
    mixup_fn = Mixup(model, num_classes=3, **options(model))
    x, y = mixup_fn(X, Y)
    expected = MetaMixUp(model, 3, **options(model))(X, Y)
    assert torch.equal(x, expected.x)
    assert torch.equal(y, expected.y)
    cross_entropy(model(x), y).backward()


def test_torchvisions_slot():
    model, index = net(), torch.arange(12)
    mixup = MixUp(model, num_classes=3, **options(model))
    assert list(mixup.parameters()) == [], "the model's parameters stay the model's"
    x, y = mixup(X, Y)
    assert x.shape == X.shape
    assert y.shape == (12, 3)
    x, y, passed = mixup((X, Y, index))
    assert passed is index
    assert mixup._mixup.mixer.stage.every == 4, "the index is used"


def test_a_slot_for_batches_cannot_blend_inside_the_model():
    with pytest.raises(UserError, match="in the loop itself"):
        Mixup(net(), 3, mix_at="features")
