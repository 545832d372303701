import numpy as np
import pytest
import torch

from metamixup.data import from_arrays
from metamixup.data.sheet import COLUMNS, blend_rows, class_rows, contact_sheet


def few(channels=3, classes=("cat", "dög 狐"), dtype=np.uint8):
    x = np.random.default_rng(0).integers(0, 256, (12, channels, 5, 7)).astype(dtype)
    return from_arrays(x, np.arange(12) % len(classes), classes=classes, channels="first")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_row_for_every_class_and_three_of_blends(channels, dtype):
    sheet = contact_sheet(few(channels, dtype=dtype))
    assert sheet.height == 5 * 68 + 4
    assert len({pixel for _, pixel in sheet.getcolors(10**6)}) > 50


def test_rows_show_their_class_and_blends_run_from_one_image_to_another():
    data = few()
    (name, images), *_ = class_rows(data, seed=0)
    assert name == "cat"
    own = data.train.images[data.train.labels == 0].float() / 255
    assert all(any(torch.equal(image, one) for one in own) for image in images)
    _, blend = blend_rows(data, seed=0)[0]
    assert len(blend) == COLUMNS
    torch.testing.assert_close(blend[4], (blend[0] + blend[8]) / 2)
    everything = data.train.images.float() / 255
    assert any(torch.equal(blend[0], one) for one in everything)


def test_of_very_many_classes_twenty_are_shown():
    x = np.zeros((120, 1, 4, 4), np.uint8)
    data = from_arrays(x, np.arange(120) % 40)
    assert len(class_rows(data, seed=0)) == 20
