import sys

import pytest
import torch
from torch import nn

from metamixup import models
from metamixup.errors import UserError
from metamixup.models.registry import build, check, known_models

COUNTS = {
    "wrn-28-10": 36.5e6,
    "wrn-28-2": 1.47e6,
    "preact-resnet18": 11.17e6,
    "preact-resnet34": 21.3e6,
    "resnet50": 23.52e6,
}
SMALL = ["cnn3", "cnn2d", "cnn-bn", "preact-resnet8", "preact-resnet20", "wrn-10-1", "wrn-16-2-leaky"]


def on_meta(name: str, channels: int, size: int | tuple[int, int], classes: int = 10) -> torch.Tensor:
    """A forward pass without memory or time, for the large models too."""
    height, width = (size, size) if isinstance(size, int) else size
    with torch.device("meta"):
        return build(name, classes, channels, size)(torch.zeros(3, channels, height, width))


@pytest.mark.parametrize(("name", "expected"), COUNTS.items())
def test_parameter_counts_are_the_published_ones(name, expected):
    with torch.device("meta"):
        count = sum(p.numel() for p in build(name, 10, 3, 32).parameters())
    assert abs(count / expected - 1) < 0.005


@pytest.mark.parametrize("name", [*known_models(), *SMALL[-2:]])
@pytest.mark.parametrize(("size", "channels"), [(8, 1), (28, 2), (32, 3), (100, 7), ((30, 45), 4)])
def test_every_model_takes_every_size_and_channel_count(name, size, channels):
    assert on_meta(name, channels, size, classes=13).shape == (3, 13)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("size", [8, 28, 32])
def test_real_images_give_finite_logits_and_every_parameter_learns(name, size):
    torch.manual_seed(0)
    model = build(name, 10, 1, size)
    logits = model(torch.randn(4, 1, size, size))
    assert logits.shape == (4, 10)
    assert logits.isfinite().all()
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("name", known_models())
def test_features_then_classifier_is_the_model(name):
    with torch.device("meta"):
        model = build(name, 10, 3, 32)
        features = model.features(torch.zeros(2, 3, 32, 32))
    assert isinstance(model, models.Staged)
    assert features.shape == (2, model.classifier.in_features)
    named = dict(model.named_modules())
    assert len(model.mixable) == 2
    assert all(stage in named for stage in model.mixable)


def test_the_same_seed_gives_the_same_weights():
    torch.manual_seed(3)
    first = build("cnn3", 10, 1, 28).state_dict()
    torch.manual_seed(3)
    second = build("cnn3", 10, 1, 28).state_dict()
    assert all(torch.equal(first[k], second[k]) for k in first)


@pytest.mark.parametrize(
    ("name", "hint"), [("cnn33", "cnn3"), ("preact-resnet-18", "preact-resnet18"), ("wrn28-10", "wrn-28-10")]
)
def test_an_unknown_name_is_answered_with_the_nearest(name, hint):
    with pytest.raises(UserError, match=f"did you mean '{hint}'"):
        build(name, 10, 3, 32)


@pytest.mark.parametrize("name", ["wrn-27-2", "wrn-4-1", "wrn-28-0", "wrn-0-0"])
def test_an_impossible_wide_resnet_is_refused(name):
    with pytest.raises(UserError, match="6n \\+ 4"):
        build(name, 10, 3, 32)


def test_a_model_that_does_not_fit_is_refused_before_the_run():
    with pytest.raises(UserError, match="does not fit images of 1×2×2"):
        check("cnn3", 10, 1, 2)
    check("wrn-28-10", 1000, 3, 100)


def test_check_leaves_the_random_state_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    check("cnn3", 10, 1, 28)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "mine_for_test.py").write_text(
        "from torch import nn\n"
        "def tiny(num_classes, in_channels=1): return nn.Sequential(nn.Flatten(), nn.LazyLinear(num_classes))\n"
        "def needy(num_classes, colour): return nn.Linear(1, 1)\n"
        "def wrong(): return 7\n"
        "def narrow(): return nn.Sequential(nn.Flatten(), nn.LazyLinear(3))\n"
        "def everything(**facts): return nn.Sequential(nn.Flatten(), nn.LazyLinear(facts['num_classes']))\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("mine_for_test", None)


@pytest.mark.usefixtures("own")
def test_a_model_of_the_users_own_is_called_with_what_it_takes():
    for name in ("mine_for_test:tiny", "mine_for_test:everything"):
        model = build(name, 5, 1, 8)
        assert isinstance(model, nn.Module)
        assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 5)
        check(name, 5, 1, 8)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine_for_test:tyny", "did you mean 'tiny'"),
        ("mine_for_test:needy", "colour"),
        ("mine_for_test:wrong", "returned int"),
        ("mine_for_test:number", "not a function"),
        ("mine_for_test:", "package.module:name"),
        (":tiny", "package.module:name"),
        ("no_such_module:tiny", "cannot import"),
        ("mine_for_test:narrow", r"shape \(2, 3\), not \(2, 5\)"),
    ],
)
@pytest.mark.usefixtures("own")
def test_mistakes_in_a_model_of_the_users_own_are_named(name, message):
    with pytest.raises(UserError, match=message):
        check(name, 5, 1, 8)
