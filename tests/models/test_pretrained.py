"""Weights that a user brings."""

import copy
import pickle

import pytest
import safetensors.torch
import torch
from torch import nn

from metamixup import MetaMixUp, models
from metamixup.errors import DataError, UserError
from metamixup.models.pretrained import adopt, find_module, freeze, parameter_groups, read_weights


def wide(classes: int) -> nn.Module:
    return models.build("wrn-10-1", classes, 1, 8)


def test_a_new_head_on_old_layers(tmp_path):
    old, new = wide(5), wide(3)
    safetensors.torch.save_file(old.state_dict(), tmp_path / "old.safetensors")
    assert adopt(new, read_weights(tmp_path / "old.safetensors")) == ["classifier.weight", "classifier.bias"]
    for name, tensor in old.stages.state_dict().items():
        assert torch.equal(new.stages.state_dict()[name], tensor)


@pytest.mark.parametrize("wrapper", ["", "module.", "model.", "_orig_mod.", "module._orig_mod."])
def test_a_module_or_wrapped_names_and_a_head_that_fits(wrapper):
    old, new = wide(3), wide(3)
    assert adopt(new, {wrapper + name: tensor for name, tensor in old.state_dict().items()}) == []
    assert torch.equal(new.classifier.weight, old.classifier.weight)
    assert adopt(wide(3), old, new_head=True) == ["classifier.weight", "classifier.bias"]


def test_weights_of_another_model_are_refused_by_name(tmp_path):
    with pytest.raises(UserError, match=r"stages\.stem\.weight is \(16, 3, 3, 3\), not \(16, 1, 3, 3\)"):
        adopt(wide(3), models.build("wrn-10-1", 3, 3, 8))
    with pytest.raises(UserError, match=r"stages\.\S+ is missing"):
        adopt(wide(3), models.build("cnn-bn", 3, 1, 8))
    (tmp_path / "w.pt").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(DataError, match=r"no safetensors file.*save_model"):
        read_weights(tmp_path / "w.pt")
    with pytest.raises(DataError, match="No such file"):
        read_weights(tmp_path / "none.safetensors")


def test_frozen_layers_stand_still_with_their_statistics():
    torch.manual_seed(0)
    model = models.build("cnn-bn", 3, 1, 8)
    freeze(model, ["conv1", "stages.conv2"])
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(parameter_groups(model, 0.1, slow=0.5), momentum=0.9, weight_decay=0.1)
    x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))
    mixer = MetaMixUp(model, 3, estimator="exact")
    for _ in range(2):
        model.train()
        mixed = mixer(x, y, x, y, lr=optimizer)
        nn.functional.cross_entropy(model(mixed.x), mixed.y).backward()
        optimizer.step()
    moved = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert moved
    assert not any(name.startswith(("stages.conv1.", "stages.conv2.")) for name in moved)
    assert any(name.startswith("stages.conv3.") for name in moved)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.05]
    assert copy.deepcopy(model).stages.conv1.train().training is False


def test_names_of_layers_and_of_the_head():
    model = wide(3)
    assert find_module(model, "stem") == "stages.stem"
    assert find_module(model, "classifier") == "classifier"
    with pytest.raises(UserError, match="unknown layer 'stm'; did you mean 'stem'"):
        freeze(model, ["stm"])
    with pytest.raises(UserError, match="no linear layer"):
        parameter_groups(nn.Conv2d(1, 1, 1), 0.1)
