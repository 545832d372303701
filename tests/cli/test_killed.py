"""Real processes and real signals."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    out = tmp_path_factory.mktemp("nursery")
    command = [sys.executable, str(Path(__file__).with_name("nursery.py")), str(out), "10", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout), done.stderr


def test_ten_kills_at_random_moments_change_no_bit(nursery):
    out, happened, _ = nursery
    assert happened["killed"] >= 5  # the others may have come after the end
    whole, killed = out / "whole", out / "killed"
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert (killed / "lambda.jsonl").read_bytes() == (whole / "lambda.jsonl").read_bytes()
    errors = [json.loads((run / "summary.json").read_text())["test_error"] for run in (whole, killed)]
    assert errors[0] == errors[1]
    assert len((killed / "metrics.jsonl").read_text().splitlines()) == 3


def test_a_terminated_run_saves_and_exits_with_75(nursery):
    out, happened, told = nursery
    assert happened["terminated"] == 75
    assert "--resume" in told
    assert not (out / "terminated" / "summary.json").exists()
    assert list((out / "terminated" / "checkpoints").iterdir())
