import json
import os
import shutil
import signal

import pytest
import safetensors.torch
import torch
from engine.toy_runs import STEPS, Stop, StopAt, run, toy_training

from metamixup.engine import checkpoint
from metamixup.engine.divergence import Diverged
from metamixup.engine.interrupt import Interrupt, Interrupted
from metamixup.engine.loop import spans
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.errors import UserError
from metamixup.trust.stage import Trust


def weights(out):
    return (out / "model.safetensors").read_bytes()


def without_times(out):
    timed = ("train_seconds", "cpu_seconds", "images_per_second", "loader_share", "meta_share", "seconds")
    return [{k: v for k, v in line.items() if k not in timed} for line in read_lines(out / "metrics.jsonl")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole")
    run(toy_training(), out)
    return out


def test_the_same_seed_gives_the_same_weights_and_another_does_not(tmp_path, whole):
    run(toy_training(), tmp_path / "again")
    run(toy_training(seed=1), tmp_path / "other")
    assert weights(tmp_path / "again") == weights(whole)
    assert weights(tmp_path / "other") != weights(whole)
    assert without_times(tmp_path / "again") == without_times(whole)


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("step", range(1, 3 * STEPS + 1))
def test_killed_after_any_step_and_resumed_is_the_undisturbed_run(tmp_path, step, learned):
    extra = {"learned": learned, "ema": True, "clip": 0.5, "checkpoint_minutes": 1e-9}
    run(toy_training(**extra), tmp_path / "whole")
    with pytest.raises(Stop):
        run(toy_training(**extra), tmp_path / "killed", StopAt(step))
    run(toy_training(**extra), tmp_path / "killed")
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert without_times(tmp_path / "killed") == without_times(tmp_path / "whole")
    for name in ("lambda.jsonl",):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("step", range(3, 8))
def test_what_the_default_policy_remembers_is_that_of_the_undisturbed_run_too(tmp_path, step):
    """Between two looks it hears what the network says in the step's own pass."""

    def training():
        made = toy_training(learned=False, checkpoint_minutes=1e-9)
        made.stage = Trust()
        return made

    undisturbed, resumed = training(), training()
    run(undisturbed, tmp_path / "whole")
    with pytest.raises(Stop):
        run(training(), tmp_path / "killed", StopAt(step))
    run(resumed, tmp_path / "killed")
    ours, theirs = resumed.stage.labels.samples, undisturbed.stage.labels.samples
    assert theirs.visits.sum() > 0
    assert torch.equal(ours.visits, theirs.visits)
    assert torch.equal(ours.log_p, theirs.log_p)
    assert resumed.stage.heard == undisturbed.stage.heard


def test_a_signal_saves_and_stops(tmp_path, whole):
    class Signal(Listener):
        def stepped(self, step, loss):
            if step == 6:
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match="step 6 of 12"):
        run(toy_training(), tmp_path, Signal())
    assert not (tmp_path / "summary.json").exists()
    assert checkpoint.newest(tmp_path / "checkpoints")[0].step == 6
    run(toy_training(), tmp_path)
    assert weights(tmp_path) == weights(whole)


def test_a_signal_before_the_first_step_still_saves(tmp_path, whole):
    interrupt = Interrupt()
    interrupt.signalled = True
    with pytest.raises(Interrupted, match="step 0"):
        run(toy_training(), tmp_path, interrupt=interrupt)
    run(toy_training(), tmp_path)
    assert weights(tmp_path) == weights(whole)


def test_a_signal_in_the_last_step_changes_nothing(tmp_path, whole):
    class Signal(Listener):
        def stepped(self, step, loss):
            if step == 12:
                os.kill(os.getpid(), signal.SIGTERM)

    assert run(toy_training(), tmp_path, Signal())["steps"] == 12
    assert weights(tmp_path) == weights(whole)


def test_a_damaged_checkpoint_costs_one_line_and_no_bit(tmp_path, whole):
    with pytest.raises(Stop):
        run(toy_training(), tmp_path, StopAt(10))
    newest = checkpoint.newest(tmp_path / "checkpoints")[0].path
    newest.write_bytes(newest.read_bytes()[:-1] + b"?")
    listener = StopAt()
    run(toy_training(), tmp_path, listener)
    assert any("damaged" in text and newest.name in text for text in listener.said)
    assert weights(tmp_path) == weights(whole)
    assert without_times(tmp_path) == without_times(whole)


def test_a_sound_checkpoint_is_not_dropped_for_a_damaged_one(tmp_path, whole):
    """Damaged twice in a row, with a checkpoint between: the one that the run went on from still serves."""
    folder = tmp_path / "checkpoints"
    with pytest.raises(Stop):
        run(toy_training(), tmp_path, StopAt(6))
    sound = checkpoint.newest(folder)[0]
    checkpoint.save(folder, sound.step + 1, {}).write_bytes(b"")
    with pytest.raises(Stop):
        run(toy_training(), tmp_path, StopAt(sound.step + 2))
    checkpoint.save(folder, sound.step + 2, {}).write_bytes(b"")
    assert checkpoint.newest(folder)[0].step >= sound.step
    run(toy_training(), tmp_path)
    assert weights(tmp_path) == weights(whole)


def test_no_good_checkpoint_at_all_is_told(tmp_path):
    with pytest.raises(Stop):
        run(toy_training(), tmp_path, StopAt(10))
    for path in (tmp_path / "checkpoints").iterdir():
        path.write_bytes(b"")
    with pytest.raises(UserError, match="damaged, and no other checkpoint"):
        run(toy_training(), tmp_path)


def test_a_checkpoint_of_another_model_is_told(tmp_path):
    with pytest.raises(Stop):
        run(toy_training(), tmp_path, StopAt(10))
    other = toy_training()
    other.model.add_module("more", torch.nn.Linear(3, 3))
    with pytest.raises(UserError, match="does not fit this run"):
        run(other, tmp_path)


def test_a_full_disk_costs_a_checkpoint_but_not_the_run(tmp_path, monkeypatch, whole):
    save = checkpoint.save

    def full(folder, step, state):
        if step == 2 * STEPS:
            raise OSError(28, "No space left on device")
        return save(folder, step, state)

    monkeypatch.setattr(checkpoint, "save", full)
    listener = StopAt()
    run(toy_training(), tmp_path, listener)
    assert any("No space left" in text and "step-000000004" in text for text in listener.said)
    assert weights(tmp_path) == weights(whole)


def test_a_loss_that_is_not_finite_stops_with_step_rate_and_checkpoint(tmp_path):
    training = toy_training(learned=False)
    method, loss = training.method, training.method.loss

    def poisoned(net, batch, mixture):
        return {k: v * (float("nan") if batch.step == 9 else 1) for k, v in loss(net, batch, mixture).items()}

    method.loss = poisoned
    with pytest.raises(Diverged, match=r"nan at step 9 with learning rate 0\.0") as caught:
        run(training, tmp_path)
    assert "step-000000008" in caught.value.__notes__[0]
    assert not (tmp_path / "summary.json").exists()


def test_weights_that_are_not_finite_are_never_saved(tmp_path):
    training = toy_training(learned=False)

    def ruin(model, batch):
        if batch.step == 2 * STEPS - 1:
            next(model.parameters()).data[0] = float("inf")

    training.method.after_step = ruin
    with pytest.raises(Diverged, match="no longer finite"):
        run(training, tmp_path)
    assert checkpoint.newest(tmp_path / "checkpoints")[0].step == STEPS


def test_the_record_of_a_run(whole):
    lines = read_lines(whole / "metrics.jsonl")
    assert [(line["epoch"], line["step"]) for line in lines] == [(1, 4), (2, 8), (3, 12)]
    needed = {"lr", "losses", "test_error", "test_nll", "test_ece", "test_error_top5", "meta_error", "seconds"}
    needed |= {"lambda_mean", "lambda_quantiles", "lambda_histogram", "images_per_second", "meta_share"}
    assert all(needed <= line.keys() for line in lines)
    assert all(sum(line["lambda_histogram"]) == 6 * STEPS for line in lines)
    summary = json.loads((whole / "summary.json").read_text())
    assert summary["test_error"] == lines[-1]["test_error"]
    best = min(lines, key=lambda line: (line["meta_error"], line["meta_nll"]))
    assert summary["best_by_meta"]["epoch"] == best["epoch"]
    assert summary["best_by_meta"]["test_error"] == best["test_error"]


def test_no_epoch_is_best_by_images_that_were_trained_on(tmp_path):
    training = toy_training()
    training.split = {"train": torch.arange(10), "meta": torch.arange(8, 12)}
    run(training, tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["best_by_meta"] is None


def test_a_run_that_died_between_its_last_checkpoint_and_its_summary_is_completed(tmp_path, whole):
    run(toy_training(), tmp_path)
    for name in ("summary.json", "model.safetensors"):
        (tmp_path / name).unlink()
    run(toy_training(), tmp_path)
    assert weights(tmp_path) == weights(whole)
    assert RunFolder(tmp_path).finished


def test_the_moving_average_is_what_is_evaluated_and_kept(tmp_path):
    training = toy_training(ema=True)
    summary = run(training, tmp_path)
    kept = safetensors.torch.load(weights(tmp_path))
    assert summary["weights"] == "ema"
    assert all(torch.equal(kept[k], v) for k, v in training.ema.module.state_dict().items())
    assert not torch.equal(kept["0.weight"], training.model.state_dict()["0.weight"])


def test_evaluation_can_be_rarer_but_never_misses_the_last_epoch(tmp_path):
    run(toy_training(evaluate_every=2), tmp_path)
    assert ["test_error" in line for line in read_lines(tmp_path / "metrics.jsonl")] == [False, True, True]


def test_clipping_bounds_the_step(tmp_path):
    training = toy_training(learned=False, lr=1.0, clip=1e-3)
    before = [p.detach().clone() for p in training.model.parameters()]
    run(training, tmp_path)
    moved = torch.cat([(p - b).flatten() for p, b in zip(training.model.parameters(), before, strict=True)]).norm()
    assert moved < 12 * 1e-3 * 10  # momentum 0.9 adds up to ten steps


@pytest.mark.parametrize("precision", ["64", "bf16-mixed"])
def test_other_precisions_train(tmp_path, precision):
    from metamixup.engine.loop import train
    from metamixup.engine.runtime import Runtime

    training = toy_training(epochs=1)
    summary = train(training, RunFolder(tmp_path), Runtime(1, precision, "cpu"))
    assert summary["steps"] == STEPS
    assert next(training.model.parameters()).dtype == (torch.float64 if precision == "64" else torch.float32)


def test_a_lost_record_of_the_last_epoch_is_made_again(tmp_path, whole):
    """The summary told another epoch's error than the weights have."""
    shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    metrics = tmp_path / "run" / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes()[:-20])
    summary = run(toy_training(), tmp_path / "run")
    assert without_times(tmp_path / "run") == without_times(whole)
    assert summary["test_error"] == json.loads((whole / "summary.json").read_text())["test_error"]
    assert weights(tmp_path / "run") == weights(whole)


def test_records_that_no_checkpoint_can_repeat_are_evaluated_again(tmp_path, whole):
    shutil.copytree(whole, tmp_path / "run")
    for name in ("summary.json", "metrics.jsonl"):
        (tmp_path / "run" / name).unlink()
    summary = run(toy_training(), tmp_path / "run")
    before = json.loads((whole / "summary.json").read_text())
    assert (summary["test_error"], summary["test_nll"]) == (before["test_error"], before["test_nll"])


def test_every_lost_record_that_no_checkpoint_can_repeat_is_named(tmp_path):
    with pytest.raises(Stop):
        run(toy_training(epochs=5), tmp_path, StopAt(4 * STEPS + 2))
    metrics = tmp_path / "metrics.jsonl"
    lines = metrics.read_bytes().splitlines(keepends=True)
    metrics.write_bytes(lines[0])
    for path in sorted((tmp_path / "checkpoints").iterdir())[:-1]:
        path.unlink()
    listener = StopAt()
    run(toy_training(epochs=5), tmp_path, listener)
    told = [text for text in listener.said if "lost" in text]
    assert told == [
        "records were lost for good, since no checkpoint repeats their epochs: 2–3",
        "the record of epoch 4 was lost; it is evaluated again",
    ]
    assert [line["epoch"] for line in read_lines(metrics)] == [1, 4, 5]


def test_records_lost_before_the_middle_of_an_epoch_are_named(tmp_path):
    with pytest.raises(Stop):
        run(toy_training(checkpoint_minutes=1e-9), tmp_path, StopAt(2 * STEPS + 3))
    (tmp_path / "metrics.jsonl").unlink()
    listener = StopAt()
    run(toy_training(), tmp_path, listener)
    assert [text for text in listener.said if "lost" in text] == [
        "records were lost for good, since no checkpoint repeats their epochs: 1–2"
    ]


def test_spans_of_numbers():
    assert spans([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"


def test_temporary_files_of_a_killed_writer_are_removed(tmp_path):
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    leftovers = [folder.checkpoints / ".step-000000001-ab.safetensors.123.tmp", tmp_path / ".summary.json.9.tmp"]
    for path in leftovers:
        path.write_bytes(b"half")
    with folder.locked():
        assert not any(path.exists() for path in leftovers)
