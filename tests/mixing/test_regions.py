import pytest
import torch

from metamixup.mixing.regions import paste, paste_smaller


def test_one_and_zero_are_the_first_sample_and_the_partner_alone():
    for lam in (0.0, 1.0):
        found = paste_smaller(torch.full((40,), lam), torch.arange(40), torch.rand(2, 40), (13, 9))
        assert torch.equal(found.lam, torch.full((40,), lam))
        assert bool((found.keep == bool(lam)).all())


@pytest.mark.parametrize("lam", [0.75, 0.02])
def test_boxes_reach_every_pixel_and_leave_at_least_what_was_asked_for(lam):
    centre, asked = torch.rand(2, 4000, generator=torch.Generator().manual_seed(0)), torch.full((4000,), lam)
    found = paste(asked, torch.zeros(4000).long(), centre, (20, 20))
    assert bool((~found.keep).any(0).all())
    assert float(found.lam.min()) >= lam - 1e-6
    assert float(found.lam.mean()) > lam + 0.05


def test_the_smaller_side_never_gains():
    centre, asked = torch.rand(2, 4000), torch.rand(4000)
    found = paste_smaller(asked, torch.zeros(4000).long(), centre, (20, 24))
    assert bool((torch.minimum(found.lam, 1 - found.lam) <= torch.minimum(asked, 1 - asked) + 1e-6).all())
    assert bool(((found.lam < 0.5) == (asked < 0.5)).all())


@pytest.mark.parametrize("make", [paste, paste_smaller])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_pixel_is_of_one_of_the_two(make, layout, channels):
    x = torch.randn(50, channels, 20, 24).contiguous(memory_format=layout)
    found = make(torch.rand(50), torch.randperm(50), torch.rand(2, 50), (20, 24))
    assert torch.equal(found.inputs(x), torch.where(found.keep[:, None], x, x[found.partner]))
    assert found.inputs(x).is_contiguous(memory_format=layout)
    assert torch.allclose(found.lam, found.keep.float().mean((1, 2)))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_nothing_of_what_lies_outside_the_box_comes_in(layout):
    x = torch.randn(50, 3, 20, 24).contiguous(memory_format=layout)
    x[::5] = float("nan")
    found = paste(torch.rand(50), torch.randperm(50), torch.rand(2, 50), (20, 24))
    expected = torch.where(found.keep[:, None], x, x[found.partner])
    torch.testing.assert_close(found.inputs(x), expected, rtol=0, atol=0, equal_nan=True)


def test_videos_are_blended_by_the_same_box_in_every_frame():
    x = torch.randn(6, 2, 5, 20, 24)
    found = paste(torch.rand(6), torch.randperm(6), torch.rand(2, 6), (20, 24))
    assert torch.equal(found.inputs(x), torch.where(found.keep[:, None, None], x, x[found.partner]))


@pytest.mark.parametrize("make", [paste, paste_smaller])
def test_the_box_is_the_region_of_one_side(make):
    found = make(torch.rand(500), torch.zeros(500).long(), torch.rand(2, 500), (20, 24))
    for keep, own, box in zip(found.keep, found.own, found.box.int().tolist(), strict=True):
        top, left, bottom, right = box
        inside = torch.zeros_like(keep)
        inside[top:bottom, left:right] = True
        assert torch.equal(keep, inside if own else ~inside)


def test_areas_are_as_precise_as_shares():
    found = paste_smaller(torch.rand(3, dtype=torch.float64), torch.arange(3), torch.rand(2, 3), (7, 7))
    assert found.lam.dtype == torch.float64
