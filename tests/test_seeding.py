import torch

from metamixup.seeding import derived_generator, derived_seed


def test_the_same_purpose_gives_the_same_numbers_and_another_does_not():
    draws = [torch.rand(4, generator=derived_generator(7, "partners", step)) for step in (3, 3, 4)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert len({derived_seed(s, w, t) for s in range(9) for w in ("a", "b") for t in range(9)}) == 9 * 2 * 9
    # names and numbers cannot run into one another
    assert derived_seed(1, 23) != derived_seed(12, 3)
