"""Fine-tuning by settings and from the command line."""

import pytest
import safetensors.torch
import torch

from metamixup.cli import run
from metamixup.errors import UserError
from metamixup.settings.build import build_training
from metamixup.settings.resolve import resolve

SMALL = {"data": "digits", "model": "cnn-bn", "epochs": 1, "subset": 400}


def test_weights_frozen_layers_and_slow_ones(tmp_path):
    first = build_training(resolve({**SMALL, "seed": 1})).model
    safetensors.torch.save_file(first.state_dict(), tmp_path / "w.safetensors")
    given = {"start.weights": str(tmp_path / "w.safetensors"), "start.freeze": ["conv1"], "start.slow": 0.1}
    training = build_training(resolve({**SMALL, **given, "seed": 2}))
    assert torch.equal(training.model.stages.conv2[0].weight, first.stages.conv2[0].weight)
    assert not training.model.stages.conv1[0].weight.requires_grad
    head, rest = training.optimizer.param_groups
    assert rest["lr"] == pytest.approx(0.1 * head["lr"])
    with pytest.raises(UserError, match="nothing to train"):
        build_training(resolve({**SMALL, "start.freeze": ["stages", "classifier"]}))


def test_from_the_command_line(tmp_path, capsys):
    small = ["--data", "digits", "--model", "cnn-bn", "--epochs", "1", "--batch-size", "64", "--set", "subset=400"]
    assert run(["train", *small, "--out", str(tmp_path / "first")]) == 0
    tuned = ["--weights", str(tmp_path / "first"), "--freeze", "conv1, conv2", "--seed", "1"]
    assert run(["train", *small, *tuned, "--out", str(tmp_path / "tuned")]) == 0
    before, after = (safetensors.torch.load_file(tmp_path / name / "model.safetensors") for name in ("first", "tuned"))
    same = {name for name in before if torch.equal(before[name], after[name])}
    assert {name for name in before if name.startswith(("stages.conv1.", "stages.conv2."))} <= same
    assert "classifier.weight" not in same
    capsys.readouterr()
    assert run(["train", *small, "--freeze", "conv9", "--out", str(tmp_path / "none")]) == 2
    assert "unknown layer 'conv9'; did you mean 'conv" in capsys.readouterr().err
    assert not (tmp_path / "none").exists() or not (tmp_path / "none" / "config.toml").exists()
