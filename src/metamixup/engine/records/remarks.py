"""What a person should know of a finished run without looking for it: that it learned nothing, or had too little to
learn from. One plain sentence each, at the end of the run and on its page."""

import math
from typing import Any

from metamixup.engine.records.summary_check import is_number
from metamixup.engine.training import Training

FEWEST_CLEAN = 10  # meta images of a class
FEWEST_TESTED = 200  # test images, below which an error is uncertain by more than a person would think
BY_HEART = 0.1  # a training error below this share of the test error
FALLEN = 0.98  # a loss that is still above this share of its first value has not fallen


def remarks(training: Training, lines: list[dict[str, Any]]) -> list[str]:
    """`lines`: those of metrics.jsonl."""
    last = lines[-1]
    found = [_guessing(training, last), _few_tested(training, last), _by_heart(training, last)]
    found += [_loss_that_stayed(lines), _few_clean(training), _lost_steps(training)]
    return [text for text in found if text is not None] + training.stage.remarks()


def _guessing(training: Training, last: dict[str, Any]) -> str | None:
    """Said only where the test images are enough to say so; else `_few_tested` says that they are not."""
    error, tested = last.get("test_error"), training.about.get("images", {}).get("test", 0)
    if not is_number(error) or not _like_guesses(training, error, tested) or _undecided(training, error, tested):
        return None
    told = f"a test error of {error:.1f} % is no better than guessing among {training.num_classes} classes"
    if _learned_by_heart(last):
        return f"what it learned does not carry over: {told}"
    return (
        f"it learned nothing: {told}; another --lr (a tenth of it first), more --epochs or a network with BatchNorm "
        "may help"
    )


def _guessed(training: Training) -> float:
    """The error of guessing."""
    return 100 * (1 - 1 / training.num_classes)


def _like_guesses(training: Training, error: float, tested: int) -> bool:
    """Within chance of what a coin would say: two deviations of the error of as many guesses as there are images."""
    chance = 1 / training.num_classes
    doubt = 200 * math.sqrt(chance * (1 - chance) / max(1, tested))
    return error >= _guessed(training) - doubt


def _undecided(training: Training, error: float, tested: int) -> bool:
    """Is the error below that of guessing, but the test images so few that guessing may do as well?"""
    return tested < FEWEST_TESTED and error < _guessed(training) and _like_guesses(training, error, tested)


def _few_tested(training: Training, last: dict[str, Any]) -> str | None:
    """How far chance reaches: two deviations of a share, counted with two right and two wrong images more."""
    error, tested = last.get("test_error"), training.about.get("images", {}).get("test", 0)
    if not is_number(error) or not 0 < tested < FEWEST_TESTED:
        return None
    wrong, share = round(error * tested / 100), (error * tested / 100 + 2) / (tested + 4)
    doubt = 200 * math.sqrt(share * (1 - share) / (tested + 4))
    undecided = _undecided(training, error, tested)
    guesses = f", and guessing among {training.num_classes} classes may do as well" if undecided else ""
    return (
        f"{wrong} of {tested} test images are wrong; of so few, an error is uncertain by {doubt:.0f} points or so"
        f"{guesses}: more images, or a folder test/, tell more"
    )


def _by_heart(training: Training, last: dict[str, Any]) -> str | None:
    """Trained weights have seen other images; a network of the user's own may have."""
    if ":" in str(training.about.get("model", "")) or not _learned_by_heart(last):
        return None
    return (
        f"it knows the training images by heart ({last['train_error']:.1f} % wrong) and others less: more images help, "
        "or a network that has seen others, as --model hf:microsoft/resnet-18 or timm:resnet18"
    )


def _learned_by_heart(last: dict[str, Any]) -> bool:
    error, known = last.get("test_error"), last.get("train_error")
    return is_number(error) and is_number(known) and error >= 10 and known <= BY_HEART * error


def _loss_that_stayed(lines: list[dict[str, Any]]) -> str | None:
    """Of the first named loss: others may grow by design, as their weight is ramped up."""
    name = next(iter(lines[0]["losses"]), "")
    first, last = (line["losses"].get(name) for line in (lines[0], lines[-1]))
    if len(lines) < 3 or not (is_number(first) and is_number(last)) or last < FALLEN * first:
        return None
    return f"the loss did not fall: {first:.3g} in the first epoch, {last:.3g} in the last; try a lower --lr"


def _few_clean(training: Training) -> str | None:
    meta = training.about.get("images", {}).get("meta", 0)
    if not training.stage.learned or not 0 < meta < FEWEST_CLEAN * training.num_classes:
        return None
    return (
        f"the meta set has {meta} images for {training.num_classes} classes, so it says little; "
        f"{FEWEST_CLEAN} or more of each class serve better (meta.per_class, or a folder meta/)"
    )


def _lost_steps(training: Training) -> str | None:
    lost = training.stage.ignored
    if not lost:
        return None
    steps = "1 step" if lost == 1 else f"{lost} steps"
    return f"in {steps} what the policy learns from was not finite, and nothing was learned; try a lower --lr"
