"""Whole runs with unlabelled data: nothing leaks, a killed run goes on bit for bit, bad input is refused."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from data.formats import write_photos

from metamixup.data.images import ImageSet
from metamixup.engine.loop import train
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.runtime import Runtime
from metamixup.errors import UserError
from metamixup.methods.guess_study import GuessStudy
from metamixup.runs.run import resume
from metamixup.settings.build import build_training
from metamixup.settings.resolve import resolve
from metamixup.settings.schema import Settings
from metamixup.settings.semi_supervised import SEMI_SUPERVISED

LEARN_NOTHING = [name for name in SEMI_SUPERVISED if not name.startswith(("metamixup", "trustmix"))]

QUICK = {
    "model": "cnn-bn",
    "epochs": 2,
    "batch_size": 20,
    "subset": 200,
    "ssl.labels": 30,
    "ssl.batch_size": 40,
    "ssl.sigma": 0.2,  # low, so that guesses count from the first step
    "optimizer.lr": 0.1,
}


def settings(method: str, **changes):
    return resolve({**QUICK, "method": method, **{k.replace("__", "."): v for k, v in changes.items()}})


class Killed(Exception):
    pass


class Killer(Listener):
    def __init__(self, step: int):
        self.step = step

    def stepped(self, step: int, loss: float) -> None:
        if step == self.step:
            raise Killed


def lines(root: Path) -> list[dict]:
    """The metrics without what the clock says."""
    clock = ("seconds", "train_seconds", "cpu_seconds", "images_per_second", "loader_share", "meta_share")
    found = [json.loads(line) for line in (root / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in clock} for line in found]


def folder(path: Path) -> RunFolder:
    path.mkdir(parents=True, exist_ok=True)
    return RunFolder(path)


def run(chosen: Settings, where: RunFolder, listeners: Sequence[Listener] = ()) -> dict:
    """Begin a run, or go on with the one that is there."""
    return resume(where, chosen, {}, listeners)


def weights(root: Path) -> bytes:
    return (root / "model.safetensors").read_bytes()


@pytest.mark.parametrize("method", ["mean-teacher", "metamixup-logit+mixmatch", "trustmix+mixmatch", "apl"])
def test_a_killed_run_goes_on_bit_for_bit(method, tmp_path):
    """Killed in the middle of an epoch, with a checkpoint at each step; teacher, guesses and records included."""
    chosen = settings(method, checkpoint_minutes=1e-9)
    run(chosen, folder(tmp_path / "whole"))
    with pytest.raises(Killed):
        run(chosen, folder(tmp_path / "killed"), [Killer(6)])
    run(chosen, folder(tmp_path / "killed"))
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    assert lines(tmp_path / "killed") == lines(tmp_path / "whole")


@pytest.mark.parametrize("method", [*LEARN_NOTHING, "metamixup-logit+apl", "trustmix+mixmatch"])
def test_hidden_labels_cannot_leak(method, tmp_path):
    """With the hidden labels permuted everything is the same bit for bit, but for the study of the guesses."""
    for name in ("true", "permuted"):
        chosen = settings(method, epochs=1)
        training = build_training(chosen)
        if name == "permuted":
            hide_others(training)
        train(training, folder(tmp_path / name), Runtime(1))
    assert weights(tmp_path / "true") == weights(tmp_path / "permuted")
    true, permuted = lines(tmp_path / "true"), lines(tmp_path / "permuted")
    for line in (*true, *permuted):
        line.pop("guess_accuracy", None)
    assert true == permuted


def hide_others(training) -> None:
    """Every unlabelled image gets another class than its own."""
    stream = training.unlabelled
    labels = stream.images.labels.clone()
    labels[stream.index] = (labels[stream.index] + 1) % 10
    stream.images = ImageSet(stream.images.images, labels)
    if training.study is not None:
        training.study = GuessStudy(labels)


def test_apl_differs_from_pseudo_label_in_a_quick_run(tmp_path):
    for method in ("apl", "pseudo-label"):
        run(settings(method, epochs=12, ssl__sigma=0.95, evaluate_every=12), folder(tmp_path / method))
    asynchronous, constant = lines(tmp_path / "apl"), lines(tmp_path / "pseudo-label")
    assert weights(tmp_path / "apl") != weights(tmp_path / "pseudo-label")
    assert [line["sigma"] for line in constant] == [0.95] * 12
    assert asynchronous[-1]["sigma"] < asynchronous[0]["sigma"] == 0.95
    assert asynchronous[-1]["share_above_sigma"] > constant[-1]["share_above_sigma"]


def test_records_of_a_run_with_a_teacher(tmp_path):
    summary = run(settings("mean-teacher"), folder(tmp_path))
    assert summary["weights"] == "teacher"
    last = lines(tmp_path)[-1]
    assert {"test_error", "student_test_error", "guess_accuracy", "ramp"} <= set(last)
    assert last["ramp"] == 1.0


def test_running_statistics_learn_once_a_step_through_the_engine(tmp_path):
    """MixMatch passes three groups and guesses twice; only the first group counts."""
    training = build_training(settings("mixmatch", epochs=1))
    train(training, folder(tmp_path), Runtime(1))
    assert int(training.model.state_dict()["stages.conv1.1.num_batches_tracked"]) == training.steps


def test_an_epoch_is_one_pass_over_the_unlabelled_images_for_every_method():
    steps = {m: build_training(settings(m)).steps_per_epoch for m in ("supervised", "apl", "mixmatch")}
    assert set(steps.values()) == {170 // 40}


def test_meta_labels_count_in_the_budget_unless_they_are_extra(tmp_path):
    training = build_training(settings("metamixup-logit+apl"))
    assert torch.equal(training.meta.index, training.train.index)
    assert training.about["labels"] == 30
    said = []
    listener = type("Ear", (Listener,), {"say": lambda self, text: said.append(text)})()
    run(settings("metamixup-logit+apl", ssl__meta="extra", meta__per_class=2, epochs=1), folder(tmp_path), [listener])
    assert said == ["50 labels are used in all: 30 and 20 more for the meta set"]


def own_data(path: Path, size: int = 8, unlabelled: int | None = 30) -> str:
    generator = np.random.default_rng(0)
    arrays = {"x": generator.integers(0, 255, (40, 8, 8), dtype=np.uint8), "y": np.arange(40) % 4}
    if unlabelled is not None:
        arrays["unlabelled"] = generator.integers(0, 255, (unlabelled, size, size), dtype=np.uint8)
    np.savez(path / "own.npz", **arrays)
    return str(path / "own.npz")


def own(tmp_path, method="apl", **changes):
    values = {"data": own_data(tmp_path, **changes), "method": method, "model": "cnn-bn", "epochs": 1, "batch_size": 10}
    return resolve(values)


def test_unlabelled_images_of_the_users_own(tmp_path):
    training = build_training(own(tmp_path))
    assert training.about["images"] == {"train": 32, "unlabelled": 30, "meta": 32, "test": 8}
    assert training.steps_per_epoch == 3
    train(training, folder(tmp_path / "run"), Runtime(1))
    assert "guess_accuracy" not in lines(tmp_path / "run")[-1]  # nobody knows the truth
    alone = build_training(own(tmp_path, "supervised"))
    assert torch.equal(alone.train.index, training.train.index)
    assert alone.steps_per_epoch == 3


@pytest.mark.parametrize("method", [f"trustmix+{name}" for name in ("pseudo-label", "apl", "mixmatch")])
def test_an_unlabelled_image_is_never_taken_for_the_training_image_of_its_number(method, tmp_path):
    chosen = own(tmp_path, method, unlabelled=60)
    training = build_training(chosen.model_copy(update={"epochs": 4}))
    stream, stage = training.train, training.stage
    training.wrong = torch.zeros(len(stream.images), dtype=torch.bool)  # for the record: the images are more than these
    train(training, folder(tmp_path / "run"), Runtime(1))
    assert stage.labels.samples.visits.shape == (32,)
    assert bool((stage.labels.samples.visits > 0).all())
    assert torch.equal(stage.labels.samples.labels, stream.images.labels)


@pytest.mark.parametrize("method", ["trustmix+apl", "trustmix+mixmatch"])
def test_wrong_ones_among_few_labels_are_found(method, tmp_path):
    wrong = {"corrupt__kind": "replace", "corrupt__share": 0.4, "meta__per_class": 5, "ssl__meta": "extra"}
    few = {"subset": 1200, "ssl__labels": 400, "epochs": 16, "evaluate_every": 16, "ssl__weight": 1.0, **wrong}
    run(settings(method, **few), folder(tmp_path))
    last = lines(tmp_path)[-1]
    assert last["trust_auroc"] > 0.9
    assert last["test_error"] < 20


def test_an_unlabelled_image_of_another_shape_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"unlabelled image is \(1, 9, 9\).*one size"):
        build_training(own(tmp_path, size=9))


def test_no_unlabelled_images_is_told_with_what_to_do(tmp_path):
    with pytest.raises(UserError, match=r"ssl\.labels.*unlabelled/"):
        build_training(own(tmp_path, unlabelled=None))


def test_the_number_of_labels_that_is_proposed_can_be_kept(tmp_path):
    """Of twelve photos, two of which are the test set."""
    write_photos(tmp_path / "photos", count=6, width=16, height=16)
    given = {"data": str(tmp_path / "photos"), "method": "trustmix+apl", "model": "cnn-bn"}
    with pytest.raises(UserError, match=r"ssl\.labels=\d+") as told:
        build_training(resolve(given))
    proposed = int(re.search(r"ssl\.labels=(\d+)", str(told.value))[1])
    assert len(build_training(resolve({**given, "ssl.labels": proposed})).split["train"]) == proposed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ssl__labels": 9}, "fewer than the 10 classes"),
        ({"ssl__sigma": 0.0}, r"ssl\.sigma"),
        ({"ssl__sigma": 1.2}, r"ssl\.sigma"),
        ({"ssl__sigma_every": 0.5}, r"ssl\.sigma_every"),
        ({"ssl__augmentations": 0}, r"ssl\.augmentations"),
        ({"ssl__batch_size": 0}, r"ssl\.batch_size"),
        ({"ssl__ramp": "sigmoid"}, r"ssl\.ramp"),
        ({"ssl__ema": 1.0}, r"ssl\.ema"),
    ],
)
def test_bad_settings_are_refused_before_training(changes, message):
    with pytest.raises(UserError, match=message):
        build_training(settings("apl", **changes))


def test_a_moving_average_of_the_engine_is_the_same_class():
    training = build_training(replace_setting(settings("apl"), ema=0.9))
    assert type(training.ema).__module__ == "metamixup.methods.ema"


def replace_setting(chosen, **optimizer):
    return chosen.model_copy(update={"optimizer": chosen.optimizer.model_copy(update=optimizer)})
