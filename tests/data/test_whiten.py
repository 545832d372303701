import numpy as np
import torch

from metamixup.data import from_arrays
from metamixup.data.whiten import fit, normalise_contrast, whitened

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
