import numpy as np
import torch

from metamixup.data import from_arrays, load
from metamixup.data.stream import Normalise
from metamixup.data.whiten import fit, normalise_contrast, scaled, whitened

GENERATOR = torch.Generator().manual_seed(0)


def correlated(count=600):
    """Neighbouring pixels alike, as in photos."""
    noise = torch.randn(count, 3, 6, 6, generator=GENERATOR)
    smooth = torch.nn.functional.avg_pool2d(noise, 3, 1, 1)
    return (smooth * 200 + 128).clamp(0, 255).to(torch.uint8)


def test_contrast_is_centred_and_of_norm_55():
    flat = normalise_contrast(correlated(5))
    torch.testing.assert_close(flat.mean(1), torch.zeros(5), atol=1e-5, rtol=0)
    torch.testing.assert_close(flat.norm(dim=1), torch.full((5,), 55.0))
    assert not normalise_contrast(torch.full((1, 3, 4, 4), 9, dtype=torch.uint8)).any()


def test_agrees_with_the_protocols_own_formula():
    images = correlated()
    flat = normalise_contrast(images).double().numpy()
    u, s, _ = np.linalg.svd(np.cov(flat, rowvar=False) + 0.1 * np.eye(flat.shape[1]))
    expected = (flat - flat.mean(0)) @ (u @ np.diag(1 / np.sqrt(s + 1e-10)) @ u.T)
    found = fit(images)(images).flatten(1).double().numpy()
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_whitened_images_are_uncorrelated():
    images = correlated(4000)
    flat = fit(images, ridge=1e-3)(images).flatten(1).double()
    covariance = flat.T.cov()
    off = covariance - covariance.diag().diag()
    assert float(off.abs().max()) < 0.02


def test_the_test_set_is_whitened_by_the_training_sets_statistics():
    data = from_arrays(correlated(100), torch.arange(100) % 2, correlated(20), torch.arange(20) % 2)
    zca = fit(data.train.images)
    found = whitened(data, zca)
    assert found.train.images.dtype == torch.float32
    assert (found.mean, found.std) == ((0.0,) * 3, (1.0,) * 3)
    torch.testing.assert_close(found.test.images, zca(data.test.images))


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
