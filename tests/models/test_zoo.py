import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.models import build, is_trained
from metamixup.models.zoo import Trained
from metamixup.network import classifier_name
from metamixup.runs import run
from metamixup.settings.config import read_config
from metamixup.settings.resolve import resolve, with_whole_paths

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    """A transformer for 3×16×16 with seven classes, as `save_pretrained` leaves it."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.ViTConfig(image_size=16, patch_size=8, num_labels=7, **sizes)
    folder = tmp_path_factory.mktemp("vit")
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def resnet(tmp_path_factory):
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=10)
    folder = tmp_path_factory.mktemp("resnet")
    transformers.ResNetForImageClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("channels", "size"), [(3, 16), (1, 8), (3, 30)])
def test_images_of_any_size_and_grey_ones_are_brought_to_what_it_takes(vit, channels, size):
    model = build(f"hf:{vit}", 10, channels, size)
    assert model(torch.randn(2, channels, size, size)).shape == (2, 10)


def test_the_weights_are_the_trained_ones_and_the_head_is_new_though_it_fits(resnet):
    before = transformers.ResNetForImageClassification.from_pretrained(resnet)
    model = build(f"hf:{resnet}", 10, 3, 32).body
    head = f"{classifier_name(model)}."
    old, new = before.state_dict(), model.state_dict()
    assert all(torch.equal(old[name], new[name]) for name in old if not name.startswith(head))
    assert not torch.equal(old[f"{head}weight"], new[f"{head}weight"])


def test_a_run_starts_from_them_and_comes_back(resnet, tmp_path, monkeypatch):
    monkeypatch.chdir(resnet.parent)
    given = with_whole_paths({"data": "digits", "model": f"hf:./{resnet.name}", "subset": 200, "epochs": 1})
    settings = resolve(given)
    assert (settings.optimizer.name, settings.start.slow, settings.model) == ("adamw", 0.1, f"hf:{resnet}")
    folder = RunFolder(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    summary = run.begin(folder, settings)
    assert read_config(folder.config) == settings  # weights are data: nobody has to name them again
    assert run.evaluate_run(folder)["test_error"] == summary["test_error"]


@pytest.mark.parametrize(
    ("name", "told"),
    [("hf:./nowhere", "cannot be loaded"), ("timm:resnet10t", "needs timm: pip install timm"), ("hf:", "cannot be")],
)
def test_what_cannot_be_loaded_is_told(name, told, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=told):
        build(name, 10, 3, 32)


def test_four_channels_are_refused(vit):
    with pytest.raises(UserError, match="3 channels, not 4"):
        build(f"hf:{vit}", 10, 4, 16)


def test_timm_is_asked_for_trained_weights_and_a_new_head(monkeypatch):
    """In the form of timm's own interface: the package itself is the user's."""

    def create_model(name, pretrained, num_classes):
        assert (name, pretrained) == ("resnet10t", True)
        net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 20 * 20, num_classes))
        net.pretrained_cfg = {"input_size": (3, 20, 20), "fixed_input_size": True}
        return net

    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model))
    model = build("timm:resnet10t", 5, 1, 8)
    assert isinstance(model, Trained)
    assert model(torch.randn(2, 1, 8, 8)).shape == (2, 5)


def test_only_the_two_libraries_are_trained_weights():
    assert is_trained("hf:a/b")
    assert not is_trained("package.module:function")
