"""`metamixup export`: every form agrees with the trained model."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import metamixup
from metamixup.cli import run
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.runs import export as exporting
from metamixup.runs.export import deployed, export_run
from metamixup.runs.predict import read_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> RunFolder:
    out = tmp_path_factory.mktemp("runs") / "run"
    small = ["--data", "digits", "--model", "cnn-bn", "--epochs", "1", "--set", "subset=400"]
    assert run(["train", *small, "--out", str(out)]) == 0
    return RunFolder(out)


@pytest.mark.parametrize("form", ["safetensors", "onnx", "pt2"])
@pytest.mark.filterwarnings("ignore")  # the exporters talk about their own insides
def test_agrees_with_the_trained_model_and_brings_a_card(form, folder, capsys):
    assert run(["export", str(folder.root), "--format", form]) == 0
    path = folder.root / "export" / f"model.{form}"
    assert str(path) in capsys.readouterr().out
    inputs = read_inputs(folder)
    pixels = torch.rand(7, *inputs.shape)
    with torch.no_grad():
        expected = deployed(folder, inputs)(pixels)
    # the card's own lines load it
    card = path.with_name("MODEL_CARD.md").read_text(encoding="utf-8")
    assert re.search(r"expected calibration error, % \| \d", card)
    assert 'method = "trustmix"' in card
    assert "{" not in card.replace('{"pixels": pixels}', "")
    code = re.search(r"```python\n(.*?)```", card, re.S)[1].replace(path.name, str(path))
    import onnxruntime

    space = {"torch": torch, "onnxruntime": onnxruntime, "metamixup": metamixup, "safetensors": safetensors}
    space["pixels"] = pixels.numpy() if form == "onnx" else pixels
    exec("import metamixup.models\n" + code, space)
    np.testing.assert_allclose(torch.as_tensor(space["logits"]).detach(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", ["safetensors", "onnx", "pt2"])
def test_an_export_that_succeeds_says_nothing_else(form, folder):
    """As a process of its own: the exporter speaks once in each."""
    command = [sys.executable, "-m", "metamixup", "export", str(folder.root), "--format", form]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""


def test_says_what_is_wrong(folder, tmp_path, monkeypatch, capsys):
    assert run(["export", str(tmp_path)]) == 2
    assert "no finished run" in capsys.readouterr().err
    assert run(["export", str(folder.root), "--format", "h5"]) == 2
    with pytest.raises(UserError, match="unknown format 'onx'; did you mean 'onnx'"):
        export_run(folder, "onx")
    monkeypatch.setitem(exporting.FORMS, "pt2", lambda model, _: (b"", lambda x: model(x) + 0.1))
    with pytest.raises(UserError, match="does not agree"):
        export_run(folder, "pt2", Path(tmp_path / "other.pt2"))


@pytest.mark.parametrize("to", ["notes.txt/model.onnx", "models", "carded/model.onnx"])
def test_a_place_that_cannot_be_written_is_told_before_the_work(to, folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "notes.txt").write_text("a file, no folder")
    (tmp_path / "models").mkdir()
    (tmp_path / "carded" / "MODEL_CARD.md").mkdir(parents=True)
    monkeypatch.setattr(exporting, "deployed", lambda *_: pytest.fail("the work was begun"))
    assert run(["export", str(folder.root), "--format", "onnx", "--to", str(tmp_path / to)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_file_may_have_any_name(folder, tmp_path, capsys):
    assert run(["export", str(folder.root), "--to", str(tmp_path / "weights")]) == 0
    assert 'load_file("weights")' in (tmp_path / "MODEL_CARD.md").read_text(encoding="utf-8")
