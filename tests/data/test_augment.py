import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from metamixup.data.augment import Augment


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def images(count=8, channels=3, height=6, width=7, dtype=torch.uint8):
    return torch.randint(0, 256, (count, channels, height, width), generator=generator()).to(dtype)


def one_by_one(augment, x, draw):
    """The reference: every sample flipped, padded and cropped on its own."""
    reach, result = augment.shift or augment.crop, []
    for k, image in enumerate(x.float()):
        flipped = image.flip(2) if draw.flip is not None and draw.flip[k] else image
        if draw.offsets is not None:
            dy, dx = (int(offset[k]) for offset in draw.offsets)
            dx = -dx if draw.flip is not None and draw.flip[k] else dx
            padded = F.pad(flipped[None], (reach,) * 4, mode="reflect" if augment.shift else "constant")[0]
            _, height, width = image.shape
            flipped = padded[:, reach + dy : reach + dy + height, reach + dx : reach + dx + width]
        result.append(flipped)
    return torch.stack(result).to(x.dtype)


@settings(max_examples=50, deadline=None)
@given(
    flip=st.booleans(),
    reach=st.integers(0, 4),
    crop=st.booleans(),
    channels=st.sampled_from([1, 3]),
    dtype=st.sampled_from([torch.uint8, torch.float32]),
    seed=st.integers(0, 99),
)
def test_equals_padding_and_cropping_one_by_one(flip, reach, crop, channels, dtype, seed):
    augment = Augment(flip, shift=0 if crop else reach, crop=reach if crop else 0)
    x = images(channels=channels, dtype=dtype)
    found = augment(x, generator(seed))
    draw = augment.draw(x.shape, generator(seed))
    assert found.dtype == dtype
    assert torch.equal(found, one_by_one(augment, x, draw))


def test_each_sample_has_its_own_draw():
    x = images(1).expand(64, -1, -1, -1)
    found = Augment(flip=True, shift=2)(x, generator())
    assert len({image.numpy().tobytes() for image in found}) > 20


@pytest.mark.parametrize(
    "augment", [Augment(), Augment(flip=True), Augment(shift=4), Augment(crop=3), Augment(noise=0.1)]
)
def test_the_input_is_left_alone(augment):
    x = images()
    before = x.clone()
    augment(x, generator())
    assert torch.equal(x, before)


def test_half_of_the_images_are_mirrored_and_all_offsets_are_drawn():
    draw = Augment(flip=True, shift=2).draw((4000, 1, 8, 8), generator())
    assert draw.flip.float().mean() == pytest.approx(0.5, abs=0.05)
    for offset in draw.offsets:
        assert offset.unique().tolist() == [-2, -1, 0, 1, 2]
        np.testing.assert_allclose(offset.add(2).bincount() / 4000, 0.2, atol=0.03)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_noise_has_the_asked_deviation(dtype):
    x = torch.full((50, 3, 16, 16), 128 if dtype == torch.uint8 else 0.5).to(dtype)
    found = Augment(noise=0.1)(x, generator())
    assert found.dtype == dtype
    scale = 255 if dtype == torch.uint8 else 1
    assert float((found.float() - x.float()).std()) / scale == pytest.approx(0.1, rel=0.03)


def test_noise_on_bytes_does_not_wrap_around():
    white = torch.full((4, 1, 8, 8), 255, dtype=torch.uint8)
    assert int(Augment(noise=0.2)(white, generator()).min()) > 50


def test_tiny_images_and_shifts_beyond_them():
    x = images(height=1, width=2)
    assert Augment(shift=4, flip=True)(x, generator()).shape == x.shape


def test_mistakes():
    with pytest.raises(ValueError, match="at least 0"):
        Augment(shift=-1)
    with pytest.raises(ValueError, match="exclude"):
        Augment(shift=2, crop=2)
