import pytest
import torch
import torch.nn.functional as F

from metamixup.models.whitening import CHUNK, Whitening


def smooth_images(count: int) -> torch.Tensor:
    """Neighbours are alike, as in photographs."""
    noise = torch.randn(count, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    return F.interpolate(noise, scale_factor=2.0, mode="bilinear")[:, :, :9, :9]


def test_channels_are_uncorrelated_with_equal_variance_and_come_with_both_signs():
    layer, images = Whitening(3, 4, 2), smooth_images(300)
    layer.fit(images)
    channels = layer(images).transpose(0, 1).reshape(8, -1)
    torch.testing.assert_close(channels[4:], -channels[:4])
    covariance = channels[:4] @ channels[:4].T / channels.shape[1]
    torch.testing.assert_close(covariance, torch.eye(4), atol=0.02, rtol=0)


def test_the_leading_components_are_kept():
    images = smooth_images(200)
    few, all_of_them = Whitening(3, 2, 2), Whitening(3, 12, 2)
    few.fit(images)
    all_of_them.fit(images)
    torch.testing.assert_close(few.weight[:2], all_of_them.weight[:2])
    # whitened, the component of largest variance has the smallest filter
    assert all_of_them.weight[:12].flatten(1).norm(dim=1).argmin() == 0


def test_images_that_are_all_alike_and_more_than_fit_in_one_chunk():
    layer = Whitening(1, 3, 2)
    layer.fit(torch.zeros(CHUNK + 1, 1, 4, 4))
    assert layer.weight.isfinite().all()


def test_it_stands_still():
    layer = Whitening(3, 2, 2)
    layer.fit(smooth_images(20))
    assert not layer.weight.requires_grad


def test_more_components_than_a_patch_has_are_refused():
    with pytest.raises(ValueError, match="fewer than 5"):
        Whitening(1, 5, 2)
