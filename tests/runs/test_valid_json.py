"""Every file of JSON that any method writes is JSON to any parser, also where its numbers are lost."""

import json

import numpy as np
import pytest

from metamixup.cli import run
from metamixup.settings.methods import METHODS
from metamixup.settings.semi_supervised import SEMI_SUPERVISED

TINY = ["--epochs", "1", "--batch-size", "6", "--threads", "1", "--model", "cnn3", "--set", "meta.per_class=2"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    pixels = np.random.default_rng(0).integers(0, 256, (24, 8, 8, 1), dtype=np.uint8)
    labels, path = np.arange(24) % 2, tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, x_train=pixels, y_train=labels, x_test=pixels[:4], y_test=labels[:4])
    return path


def strictly(path):
    """The values of a file; what JSON does not know (NaN, Infinity) is refused."""

    def strange(text):
        raise AssertionError(f"{path}: {text}")

    text = path.read_text(encoding="utf-8")
    parts = text.splitlines() if path.suffix == ".jsonl" else [text]
    return [json.loads(part, parse_constant=strange) for part in parts]


@pytest.mark.parametrize(("rate", "code"), [("0.01", 0), ("1e12", 1)], ids=["sound", "diverged"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method(method, rate, code, data, tmp_path, capsys):
    labels = ["--set", "ssl.labels=8"] if method in SEMI_SUPERVISED else []
    given = ["--data", str(data), "--method", method, "--lr", rate, *labels, *TINY]
    assert run(["train", *given, "--out", str(tmp_path / "run")]) == code, capsys.readouterr().err
    written = {path.name for path in (tmp_path / "run").rglob("*.json*") if strictly(path)}
    assert code or written == {"metrics.jsonl", "lambda.jsonl", "gallery.json", "summary.json"}
