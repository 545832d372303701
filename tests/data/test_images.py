import dataclasses

import pytest
import torch

from metamixup.data.images import DataSet, ImageSet, may_flip, statistics
from metamixup.errors import DataError

GENERATOR = torch.Generator().manual_seed(0)


def test_statistics_are_those_of_the_whole_set():
    images = torch.randint(0, 256, (700, 3, 5, 4), dtype=torch.uint8, generator=GENERATOR)
    mean, std = statistics(images)
    scaled = images.double() / 255
    torch.testing.assert_close(torch.tensor(mean).double(), scaled.mean((0, 2, 3)), atol=1e-7, rtol=0)
    torch.testing.assert_close(torch.tensor(std).double(), scaled.std((0, 2, 3), correction=0), atol=1e-7, rtol=0)


def test_a_small_variation_about_a_large_mean_is_not_lost():
    images = 1e4 + 0.1 * torch.randn(500, 1, 8, 8, generator=GENERATOR)
    assert statistics(images)[1][0] == pytest.approx(0.1, rel=0.05)


def test_a_constant_channel_divides_by_one():
    assert statistics(torch.full((3, 2, 4, 4), 255, dtype=torch.uint8)) == ((1.0, 1.0), (1.0, 1.0))


def test_of_very_many_images_some_are_read(monkeypatch):
    monkeypatch.setattr("metamixup.data.images.MOST_PIXELS", 1000)
    images = torch.arange(256, dtype=torch.uint8).repeat(40).view(-1, 1, 1, 1).expand(-1, 1, 4, 4)
    assert statistics(images)[0][0] == pytest.approx(0.5, abs=0.05)


def part(images=4, labels=4, value=0):
    return ImageSet(torch.zeros(images, 1, 2, 2, dtype=torch.uint8), torch.full((labels,), value))


@pytest.mark.parametrize("train", [part(labels=3), part(value=2), part(value=-1), part(images=0, labels=0)])
def test_sets_that_make_no_sense_are_refused(train):
    with pytest.raises(DataError, match="own, training set"):
        DataSet("own", train, part(), ("a", "b"), (0.0,), (1.0,))


def test_shape_and_classes():
    data = DataSet("own", part(), part(), ("a", "b"), (0.0,), (1.0,))
    assert (data.shape, data.num_classes) == ((1, 2, 2), 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"


@pytest.mark.parametrize(
    ("classes", "channels", "flips"),
    [
        (("cat", "dog"), 3, True),
        (("cat", "dog"), 1, False),
        (("a", "b"), 3, False),
        (("10", "20", "7"), 3, False),
        (("left hand", "right hand"), 3, False),
        (("leftovers", "meals"), 3, True),
    ],
)
def test_what_a_mirror_would_change_is_not_mirrored(classes, channels, flips):
    assert may_flip(classes, channels) is flips
