"""What is said of the data before a run."""

from types import SimpleNamespace

import torch

from metamixup.data import DataSet, ImageSet
from metamixup.runs.beforehand import told_before
from metamixup.settings.resolve import resolve


def said(classes, tested) -> str:
    part = ImageSet(torch.zeros(len(tested), 1, 4, 4, dtype=torch.uint8), torch.tensor(tested))
    found = DataSet("toy", part, part, tuple(classes), (0.5,), (0.2,))
    training = SimpleNamespace(about={"labels": 3}, stage=SimpleNamespace(learned=False))
    return "\n".join(told_before(resolve({"data": "digits"}), training, found))


def test_classes_that_only_case_tells_apart_are_named():
    assert "'Ship' and 'ship' are classes of their own" in said(["Ship", "car", "ship"], [0, 1, 2])


def test_letters_are_not():
    assert said(["A", "a", "car", "ship"], [0, 1, 2, 3]) == ""


def test_classes_without_a_test_image_are_named():
    assert "no test image of 'rare':" in said(["car", "rare", "ship"], [0, 2])
    many = [f"class {k}" for k in range(9)]
    assert "'class 5' and 3 more:" in said(many, [0])
