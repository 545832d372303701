import pytest
import torch

from metamixup.engine.growth import Growth, sized


def test_equal_parts_of_the_run_have_their_sizes():
    growth, images = Growth((4, 6, 8), steps=9), torch.rand(2, 3, 8, 8)
    assert [growth(images, step).shape[-1] for step in range(9)] == [4, 4, 4, 6, 6, 6, 8, 8, 8]
    assert growth(images, 8) is images
    assert growth(images, 9).shape[-1] == 8  # beyond the end


def test_without_sizes_anything_stays_as_it_is():
    points = torch.rand(3, 2)
    assert Growth()(points, 5) is points


def test_pixels_are_averaged_and_not_dropped():
    stripes = torch.arange(8.0).remainder(2).expand(1, 1, 8, 8)
    small = Growth((4,))(stripes, 0)
    torch.testing.assert_close(small[..., 1:-1], torch.full((1, 1, 4, 2), 0.5), atol=0.1, rtol=0)


@pytest.mark.parametrize(("size", "height", "expected"), [((8, 8), 4, (4, 4)), ((30, 45), 20, (20, 30))])
def test_width_in_proportion(size, height, expected):
    assert sized(size, height) == expected
