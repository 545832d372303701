"""One real training step of every full recipe, on made-up data of its shape."""

import pytest
import torch

from metamixup.data import DataSet, ImageSet
from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.settings.build import build_training
from metamixup.settings.resolve import resolve
from metamixup.tables.cells import Cell, Choice, plan_cells
from metamixup.tables.recipe import load_recipe

SHAPES = {  # channels, pixels, classes
    "mnist": (1, 28, 10),
    "fashion": (1, 28, 10),
    "svhn": (3, 32, 10),
    "cifar10": (3, 32, 10),
    "cifar100": (3, 32, 100),
    "imagenet": (3, 100, 1000),
}
# A step of these at 100×100 takes a core minutes; the smaller PreActResNet takes it, and these take 32×32.
TOO_LARGE = {("imagenet", "preact-resnet34"), ("imagenet", "wrn-28-10")}


PLAIN = ("baseline", "mixup", "fixed")  # they differ by a number; the small network takes a step of each


def different_steps() -> list[Cell]:
    """The cells of both tables, each computation once: another α, or another data set of one size, is the same."""
    found: dict[tuple, Cell] = {}
    for table, choice in (("table1", Choice()), ("table2", Choice()), ("table1", Choice(budget="cpu"))):
        for cell in plan_cells(load_recipe(table), choice):
            method = cell.given["method"] if cell.model == "cnn3" or cell.given["method"] not in PLAIN else "plain"
            found.setdefault((pixels_of(cell.column, cell.model), cell.model, method), cell)
    return list(found.values())


def pixels_of(column: str, model: str) -> int:
    return 32 if (column, model) in TOO_LARGE else SHAPES[column][1]


def made_up(column: str, model: str) -> DataSet:
    channels, _, classes = SHAPES[column]
    pixels = pixels_of(column, model)
    # One image shown many times: the shape counts, and no memory is needed.
    image = torch.randint(0, 256, (1, channels, pixels, pixels), dtype=torch.uint8)
    part = ImageSet(image.expand(2 * classes, -1, -1, -1), torch.arange(classes).repeat(2))
    names = tuple(str(c) for c in range(classes))
    return DataSet(column, part, part, names, mean=(0.5,) * channels, std=(0.25,) * channels)


@pytest.mark.parametrize("cell", different_steps(), ids=lambda cell: cell.name)
def test_one_step_trains_every_weight(cell):
    exact = cell.row == "metamixup" and cell.model != "cnn3"
    batch_size = 8 if cell.model == "fast-s" else 1 if exact else 2  # a half of it may end at 1×1 pixels, in BatchNorm
    settings = resolve({**cell.given, "seed": 0, "batch_size": batch_size, "meta.per_class": 1})
    training = build_training(settings, made_up(cell.column, cell.model))
    stepper = Stepper(training, Runtime(1), print)
    before = {name: p.detach().clone() for name, p in training.model.named_parameters() if p.requires_grad}
    done = stepper(1)  # the first step of a warm-up has a learning rate of almost nothing
    assert all(value.isfinite() for value in done.losses.values())
    moved = [name for name, old in before.items() if not torch.equal(training.model.get_parameter(name), old)]
    assert len(moved) > 0.9 * len(before)
