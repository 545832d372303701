"""`metamixup doctor`."""

import json

import pytest

from metamixup.cli import run
from metamixup.runs import self_test
from metamixup.runs.self_test import SelfTest


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(self_test, "SECONDS", 1.0)


def test_tells_what_there_is_and_passes(short, capsys, tmp_path):
    assert run(["doctor", "--data-dir", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "self-test: passed" in told
    assert "torch 2." in told
    assert "cifar10" in told
    assert "not found" in told


def test_json_and_a_failed_self_test(monkeypatch, capsys):
    monkeypatch.setattr(self_test, "self_test", lambda: SelfTest(0.3, 10, 1.0, 0.9))
    assert run(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["self_test"]["passed"] is False
    assert found["packages"]["core"]["torch"]


def test_the_gradient_check_sees_a_wrong_gradient(monkeypatch):
    assert self_test.gradient_error() < 1e-7
    monkeypatch.setattr(self_test, "Exact", lambda: lambda model, loss, meta_loss, mixture, eta: 0 * mixture.lam)
    assert self_test.gradient_error() > 0.9
