"""A run that learned nothing says so, in one plain line each; one that learned says nothing."""

import re

import pytest
from engine.toy_runs import run, toy_training

from metamixup.engine.records.remarks import remarks
from metamixup.trust import Trust

IMAGES = {"images": {"train": 200, "meta": 60, "test": 300}}


def line(epoch=1, error=20.0, loss=1.0, train=15.0):
    return {
        "epoch": epoch,
        "test_error": error,
        "train_error": train,
        "losses": {"supervised": loss, "unlabelled": 1.0},
    }


@pytest.mark.parametrize(
    ("lines", "about", "told"),
    [
        ([line(), line(2, 15.0, 0.5), line(3, 10.0, 0.3)], IMAGES, []),
        ([line(error=66.0)], IMAGES, ["no better than guessing among 3 classes"]),
        ([line(error=62.5)], IMAGES, ["no better than guessing"]),  # 66.7 − 62.5 is within chance for 300 images
        ([line(error=50.0)], IMAGES, []),
        (
            [line(), line(2), line(3, loss=1.1)],
            IMAGES,
            ["did not fall: 1 in the first epoch, 1.1 in the last"],
        ),
        ([line()], {"images": {"train": 9, "meta": 12, "test": 300}}, ["12 images for 3 classes, so it says little"]),
        ([line(error=None)], {}, []),
        ([line(error=25.0)], {"images": {"test": 24}}, ["6 of 24 test images are wrong; of so few, an error is unc"]),
        ([line(error=0.0, train=0.0)], {"images": {"test": 24}}, ["0 of 24 test images are wrong"]),
        # Two right answers may be guesses, but they are no sign of having learned nothing.
        (
            [line(error=0.0)],
            {"images": {"test": 2}},
            ["0 of 2 .* by 38 points or so, and guessing among 3 classes may do"],
        ),
        (
            [line(error=75.0)],
            {"images": {"test": 8}},
            ["^it learned nothing: a test error of 75.0 %", "6 of 8 .* so: more"],
        ),
        ([line(error=66.0, train=1.0)], IMAGES, ["^what it learned does not carry over: .* 3 classes$", "by heart"]),
        ([line(train=1.0)], IMAGES, [r"by heart \(1.0 % wrong\)"]),
        ([line(error=5.0, train=0.0)], IMAGES, []),
        ([line(train=1.0)], IMAGES | {"model": "hf:microsoft/resnet-18"}, []),
    ],
)
def test_what_is_said(lines, about, told):
    training = toy_training(about=about)
    found = remarks(training, lines)
    assert len(found) == len(told)
    assert all(re.search(words, text) for words, text in zip(told, found, strict=True))


def test_a_policy_that_distrusted_nothing_or_lost_predictions_says_so():
    stage = Trust()
    assert stage.remarks() == ["the policy found no labels to distrust"]
    stage.labels.samples.ignored = 3
    assert "3 predictions were not finite" in stage.remarks()[1]


def test_steps_that_nothing_was_learned_from_are_told():
    training = toy_training(about=IMAGES)
    training.stage.ignored = 2
    (told,) = remarks(training, [line()])
    assert told.startswith("in 2 steps what the policy learns from was not finite")


def test_it_stands_in_the_summary(tmp_path):
    assert isinstance(run(toy_training(), tmp_path)["remarks"], list)
