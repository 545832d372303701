import torch

from metamixup.data import load
from metamixup.data.pixels import scaled
from metamixup.data.stream import Normalise


def test_symmetric_pixels_lie_between_minus_one_and_one():
    found = scaled(load("digits"), "symmetric")
    seen = Normalise(found.mean, found.std, found.train.images)(found.train.images)
    assert float(seen.min()) == -1
    assert float(seen.max()) == 1


def test_standard_pixels_are_left_as_the_data_set_says():
    found = load("digits")
    assert scaled(found, "standard") is found


def test_whitened_pixels_have_unit_variance_in_the_directions_that_vary():
    found = scaled(load("digits"), "zca")
    flat = found.train.images.flatten(1).double()
    variances = torch.linalg.eigvalsh(torch.cov(flat.T))
    assert variances[-30:].min() > 0.9
    assert variances.max() < 1.01
    assert (found.mean, found.std) == ((0.0,), (1.0,))
    assert len(found.test.images) == len(load("digits").test.images)
