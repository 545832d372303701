import torch

from metamixup.mixing.regions import paste


def test_one_and_zero_are_the_first_sample_and_the_partner_alone():
    for lam in (0.0, 1.0):
        found = paste(torch.full((40,), lam), torch.arange(40), torch.rand(2, 40), (13, 9))
        assert torch.equal(found.lam, torch.full((40,), lam))
        assert bool((found.keep == bool(lam)).all())


def test_boxes_reach_every_pixel_and_leave_at_least_what_was_asked_for():
    centre, lam = torch.rand(2, 4000, generator=torch.Generator().manual_seed(0)), torch.full((4000,), 0.75)
    found = paste(lam, torch.zeros(4000).long(), centre, (8, 8))
    assert bool((~found.keep).any(0).all())
    assert float(found.lam.min()) == 0.75
    assert float(found.lam.mean()) > 0.8
