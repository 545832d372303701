"""The examples run in their quick form: two epochs, one seed."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _as_from_a_shell(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["tabular", "text", "sequences"])
def test_quick(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--quick"])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "| task | no mixing | MixUp, α = 1 | TrustMix |" in printed
    assert "nan" not in printed


def test_fine_tuning(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["finetune.py", "--quick"])
    runpy.run_path(str(EXAMPLES / "finetune.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "source classes:" in printed
    assert "from scratch:" in printed
    assert "stem and layer1 frozen:" in printed


def test_the_picture_of_a_policy(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["policy_picture.py", "--quick", "--out", "policy.svg"])
    runpy.run_path(str(EXAMPLES / "policy_picture.py"), run_name="__main__")
    assert "mean trust: right labels" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "policy.svg").read_text()
