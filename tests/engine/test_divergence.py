"""Every way in which the numbers of a run can be lost ends it with code 1, and leaves valid files."""

import json

import pytest
import torch
from engine.toy_runs import STEPS, run, toy_training

from metamixup.cli import run as command
from metamixup.engine import checkpoint
from metamixup.engine.divergence import Diverged, first_lost
from metamixup.methods.ema import EMA


def strictly(path):
    def strange(text):
        raise AssertionError(f"{path}: {text}")

    return [json.loads(line, parse_constant=strange) for line in path.read_text().splitlines()]


def ruined(training, ruin):
    def after_step(model, batch):
        if batch.step == 2 * STEPS - 1:
            ruin(model)

    training.method.after_step = after_step
    return training


def test_a_buffer_that_is_lost_stops_the_run(tmp_path):
    training = toy_training(learned=False)
    training.model.register_buffer("mean", torch.zeros(2))
    training.model.register_buffer("mask", torch.full((2,), -torch.inf))  # was so from the start

    with pytest.raises(Diverged, match=r"model\.mean is no longer finite at step 8") as caught:
        run(ruined(training, lambda model: model.mean.fill_(torch.nan)), tmp_path)
    assert f"step-{STEPS:09d}" in caught.value.__notes__[0]
    assert checkpoint.newest(tmp_path / "checkpoints")[0].step == STEPS
    assert [line["epoch"] for line in strictly(tmp_path / "metrics.jsonl")] == [1]


def test_averaged_weights_that_are_lost_stop_the_run(tmp_path):
    training = toy_training(learned=False)
    training.ema = EMA(training.model, 0.5)

    def ruin(model):
        next(training.ema.module.parameters()).data.fill_(torch.inf)

    with pytest.raises(Diverged, match=r"ema\..* is no longer finite"):
        run(ruined(training, ruin), tmp_path)


def test_outputs_that_are_lost_with_finite_weights_stop_the_run(tmp_path):
    training = toy_training(learned=False)

    def ruin(model):
        for parameter in model.parameters():
            parameter.data.fill_(1e38)

    with pytest.raises(Diverged, match=r"became (nan|inf)"):
        run(ruined(training, ruin), tmp_path)
    assert not (tmp_path / "summary.json").exists()


def test_every_number_of_a_line_is_looked_at():
    assert first_lost({"losses": {"supervised": 1.0}, "epoch": 1, "test_nll": 0.5}) is None
    assert first_lost({"losses": {"supervised": float("nan")}}) == "supervised became nan"
    assert first_lost({"losses": {}, "lambda_mean": float("inf")}) == "lambda_mean became inf"


def test_a_diverged_run_of_a_network_with_batch_norm_ends_with_1(tmp_path, capsys):
    given = ["--epochs", "2", "--lr", "1000", "--set", "subset=400", "--model", "preact-resnet8", "--threads", "1"]
    assert command(["train", *given, "--out", str(tmp_path / "run")]) == 1
    told = capsys.readouterr().err
    assert "at step" in told
    assert "with learning rate" in told
    assert "last good checkpoint" in told
    for path in (tmp_path / "run").glob("*.json*"):
        strictly(path)
