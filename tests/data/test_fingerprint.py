from dataclasses import replace

import pytest
import torch

from metamixup import data
from metamixup.data import ImageSet
from metamixup.data import fingerprint as module
from metamixup.data.fingerprint import fingerprint


def changed(found, part, what):
    images, labels = getattr(found, part).images.clone(), getattr(found, part).labels.clone()
    if what == "pixel":
        images[-1, -1, -1, -1] ^= 1
    elif what == "label":
        labels[0] = (labels[0] + 1) % 10
    else:
        images, labels = images[:-1], labels[:-1]
    return replace(found, **{part: ImageSet(images, labels)})


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


@pytest.mark.parametrize("what", ["pixel", "label", "image"])
@pytest.mark.parametrize("part", ["train", "test"])
def test_every_change_is_seen(digits, part, what):
    assert fingerprint(digits) == fingerprint(digits)
    assert fingerprint(changed(digits, part, what)) != fingerprint(digits)


def test_of_very_many_an_even_sample_is_looked_at(digits, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    first = changed(digits, "train", "pixel")
    images = digits.train.images.clone()
    images[0] = torch.zeros_like(images[0]) + 7
    assert fingerprint(first) == fingerprint(digits)  # the last image is not in the sample
    assert fingerprint(replace(digits, train=ImageSet(images, digits.train.labels))) != fingerprint(digits)
