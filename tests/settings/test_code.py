"""Code of a user's own by `package.module:Class`, and the guard before code that others hand over."""

import json

import pytest

from metamixup.cli import run
from metamixup.errors import UserError
from metamixup.settings.code import is_code, refuse_code
from metamixup.settings.resolve import resolve

OWN = """
import torch
from metamixup.data import from_arrays
from metamixup.meta import Head
from metamixup.methods.supervised import Supervised
from metamixup.policy import Policy


class Coin(Policy):
    '''Heads or tails.'''

    def __init__(self, heads: float = 0.5):
        if not 0 <= heads <= 1:
            raise ValueError(f"heads lies in [0, 1], not {heads}")
        self.heads = heads

    def draw(self, pairs, generator):
        return (torch.rand(len(pairs.partner), generator=generator) < self.heads).float()


class Smooth(Supervised):
    '''Label smoothing of my own.'''

    defaults = {"policy.name": "beta", "policy.alpha": 0.4}

    def __init__(self):
        super().__init__(smoothing=0.3)


class Half(Head):
    pass


def images():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(120, 1, 8, 8, generator=generator)
    y = torch.arange(120) % 3
    return from_arrays(x[:90], y[:90], x[90:], y[90:])


def wrong():
    return 3
"""
SHORT = ["--epochs", "1", "--threads", "1", "--batch-size", "16", "--set", "meta.per_class=4"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["my.module:Class", "m:f", "_a.b:c"])
def test_what_is_code(name):
    assert is_code(name)


@pytest.mark.parametrize(
    "name", ["trustmix:reverse", "hub:mnist", "hf:some/net", "cnn3", "C:/photos", None, 3, "a:", "a:b:c"]
)
def test_what_is_none(name):
    assert not is_code(name)


def test_own_parts_train_together(here):
    own = ["--policy", "own_parts:Coin", "--method", "own_parts:Smooth", "--data", "own_parts:images"]
    assert run(["train", *own, *SHORT, "--model", "cnn-bn", "--set", "policy.heads=0.25", "--out", "run"]) == 0
    summary = json.loads((here / "run" / "summary.json").read_text())
    assert (summary["method"], summary["data"]) == ("own_parts:Smooth", "own_parts:images")
    assert sum(summary["lambda_histogram"][1:-1]) == 0  # heads or tails
    learned = ["--method", "metamixup-logit", "--estimator", "own_parts:Half", "--data", "own_parts:images"]
    assert run(["train", *learned, *SHORT, "--model", "cnn-bn", "--out", "learned"]) == 0


def test_an_own_method_brings_its_defaults_and_an_own_policy_its_settings(here):
    assert resolve({"method": "own_parts:Smooth"}).policy.model_dump()["alpha"] == 0.4
    assert resolve({"policy.name": "own_parts:Coin"}).policy.model_dump()["heads"] == 0.5
    with pytest.raises(UserError, match="heads lies in"):
        resolve({"policy.name": "own_parts:Coin", "policy.heads": 2.0})
    with pytest.raises(UserError, match=r"policy\.tails does not apply to policy 'own_parts:Coin', which has heads"):
        resolve({"policy.name": "own_parts:Coin", "policy.tails": 2.0})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--policy", "own_parts:wrong"], "makes a int, not a Policy"),
        (["--method", "own_parts:wrong"], "makes a int, not a"),
        (["--data", "own_parts:wrong"], "gave a int, not a DataSet"),
        (["--policy", "own_parts:Coyn"], "did you mean 'Coin'?"),
        (["--policy", "no_such_module:Coin"], "policy 'no_such_module:Coin': cannot import"),
    ],
)
def test_mistakes_are_told_by_what_they_are(here, given, told, capsys):
    assert run(["train", *given, *SHORT, "--out", "run"]) == 2
    assert told in capsys.readouterr().err


PLANTED = "import os\nos.mkdir('mark')\ndef f(*a, **k): pass\n"
KEYS = {"data": "data", "model": "model", "method": "method"}


@pytest.mark.parametrize("text", ['{key} = "planted:f"', '[{section}]\nname = "planted:f"'])
def test_a_handed_config_imports_nothing_that_was_not_named(tmp_path, monkeypatch, capsys, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text(PLANTED)
    for key in ("data", "model", "method") if "key" in text else ("policy", "estimator"):
        (tmp_path / "theirs.toml").write_text(text.format(key=key, section=key))
        assert run(["train", "--config", "theirs.toml", "--out", "run"]) == 2
        assert f"the {key} 'planted:f' is code" in capsys.readouterr().err
    assert not (tmp_path / "mark").exists()


RECIPE = """
title = "theirs"
[rows.baseline]
{row}
[full]
base = {{ {base} }}
[[full.columns]]
data = "{data}"
model = "cnn3"
{column}
[quick]
[[quick.columns]]
data = "digits"
model = "cnn3"
"""


@pytest.mark.parametrize(
    "planted",
    [
        {"row": 'method = "planted:f"'},
        {"row": 'settings = { policy = { name = "planted:f" } }'},
        {"base": 'estimator = { name = "planted:f" }'},
        {"data": "planted:f"},
        {"column": 'adjust = { baseline = { model = "planted:f" } }'},
    ],
    ids=str,
)
def test_a_handed_recipe_imports_nothing_that_was_not_named(tmp_path, monkeypatch, capsys, planted):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text(PLANTED)
    (tmp_path / "theirs.toml").write_text(
        RECIPE.format(**{"row": "", "base": "", "data": "digits", "column": ""} | planted)
    )
    for more in ([], ["--dry-run"], ["--collect"]):
        assert run(["reproduce", "theirs.toml", *more]) == 2
        assert "is code that would be imported" in capsys.readouterr().err
    assert not (tmp_path / "mark").exists()


def test_code_that_is_named_is_let_through(monkeypatch):
    refuse_code({"policy.name": "a:b"}, "x.toml", ["a:b"])
    monkeypatch.setenv("METAMIXUP_TRUST", "c:d, a:b")
    refuse_code({"policy.name": "a:b", "model": "c:d"}, "x.toml")
