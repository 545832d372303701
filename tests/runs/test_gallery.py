import base64
import io

import pytest
import torch
from PIL import Image

from metamixup.data import DataSet, ImageSet
from metamixup.runs.gallery import (
    LARGEST_SIDE,
    confusion,
    extreme_pairs,
    last_blends,
    most_confused,
    picture,
    predictions,
)


def opened(text):
    return Image.open(io.BytesIO(base64.b64decode(text)))


def data_set(n=6, classes=3):
    images = ImageSet(torch.randint(0, 256, (n, 1, 8, 8), dtype=torch.uint8), torch.arange(n) % classes)
    return DataSet("toy", images, images, tuple("abc"), (0.5,), (0.2,))


def test_predictions_of_a_known_table():
    found = data_set()
    logits = torch.full((6, 3), -2.0)
    said = torch.tensor([0, 1, 2, 1, 1, 0])  # true: 0 1 2 0 1 2
    logits[torch.arange(6), said] = torch.tensor([3.0, 3.0, 3.0, 2.0, 3.0, 5.0])
    made = predictions(logits, found.test.labels, found)
    assert made["confusion"] == [[1, 1, 0], [0, 2, 0], [1, 0, 1]]
    assert made["confused"] == [[0, 1, 1], [2, 0, 1]]
    assert [(m["index"], m["true"], m["predicted"]) for m in made["mistakes"]] == [(5, 2, 0), (3, 0, 1)]
    assert made["mistakes"][0]["confidence"] > made["mistakes"][1]["confidence"]
    count, accuracy = (torch.tensor(made["calibration"][key]) for key in ("count", "accuracy"))
    assert count.sum() == 6
    assert float((count * accuracy).sum()) == pytest.approx(4, 1e-4)


def test_confusion_counts_every_image_once():
    labels, predicted = torch.randint(0, 7, (2, 500))
    table = confusion(predicted, labels, 7)
    assert table.sum() == 500
    assert torch.equal(table.sum(1), labels.bincount(minlength=7))
    assert table.sum() - table.trace() == sum(n for _, _, n in most_confused(table)) or len(most_confused(table)) == 20


@pytest.mark.parametrize(
    "row",
    [
        [0, 9, 0.5],
        [0, "\x1b[2J", 0.5],
        [0, None, 0.5],
        [1e308, 0, 0.5],
        [-1, 0, 0.5],
        "",
        [0],
        [0, 1, 0.5, 0.5],
        [0, 1, 0.5, 0, 0, 2, 1],
    ],
)
def test_a_row_that_is_none_is_left_out(row):
    images = ImageSet(torch.zeros(2, 1, 4, 4, dtype=torch.uint8), torch.tensor([0, 1]))
    assert extreme_pairs([row], images) == []
    assert len(extreme_pairs([row, [0, 1, 0.5]], images)) == 1
    assert last_blends([{"epoch": 1, "most": [row, [0, 1, 0.5]]}, {"epoch": 2, "most": row}])["epoch"] == 1


def test_extreme_pairs_show_the_blend():
    images = ImageSet(
        torch.tensor([0, 200], dtype=torch.uint8).view(2, 1, 1, 1).expand(2, 1, 4, 4), torch.tensor([2, 5])
    )
    [pair] = extreme_pairs([[0, 1, 0.25]], images)
    assert (pair["first_class"], pair["second_class"], pair["lam"]) == (2, 5, 0.25)
    assert opened(pair["mixed"]).getpixel((0, 0)) == (150, 150, 150)


@pytest.mark.parametrize(("lam", "inside", "outside"), [(0.75, 200, 0), (0.25, 0, 200)])
def test_extreme_pairs_show_the_box(lam, inside, outside):
    images = ImageSet(
        torch.tensor([0, 200], dtype=torch.uint8).view(2, 1, 1, 1).expand(2, 1, 4, 4), torch.tensor([2, 5])
    )
    [pair] = extreme_pairs([[0, 1, lam, 0.0, 0.5, 0.5, 1.0]], images)
    mixed = opened(pair["mixed"])
    assert mixed.getpixel((3, 1))[0] == inside
    assert mixed.getpixel((1, 1))[0] == mixed.getpixel((3, 3))[0] == outside


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [torch.uint8, torch.float32])
def test_pictures_of_any_kind_of_image(channels, kind):
    image = (torch.rand(channels, 5, 9) * 200).to(kind)
    made = opened(picture(image))
    assert (made.size, made.mode, made.format) == ((9, 5), "RGB", "PNG")


def test_pictures_are_small_and_constant_floats_do_not_divide_by_zero():
    assert max(opened(picture(torch.zeros(3, 500, 300, dtype=torch.uint8))).size) == LARGEST_SIDE
    assert opened(picture(torch.full((1, 4, 4), 3.5))).getpixel((1, 1)) == (0, 0, 0)


def test_pairs_are_of_the_last_epoch_that_blended_well():
    lines = [
        {"epoch": 1, "most": [[0, 1, 0.4]]},
        {"epoch": 2, "most": [[0, 1, 0.5], [2, 3, 0.6]]},
        {"epoch": 3, "most": [[0, 1, 0.5], [2, 3, 0.01]]},
        {"epoch": 4},
    ]
    assert last_blends(lines)["epoch"] == 2
    assert last_blends(lines[2:])["epoch"] == 3
    assert last_blends([]) == last_blends([{"epoch": 1}]) == {}
