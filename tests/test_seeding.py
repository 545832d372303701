import random

import numpy as np
import torch

from metamixup.seeding import derived_generator, derived_seed, own_randomness, seed_everything


def test_the_same_purpose_gives_the_same_numbers_and_another_does_not():
    draws = [torch.rand(4, generator=derived_generator(7, "partners", step)) for step in (3, 3, 4)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert len({derived_seed(s, w, t) for s in range(9) for w in ("a", "b") for t in range(9)}) == 9 * 2 * 9
    # names and numbers cannot run into one another
    assert derived_seed(1, 23) != derived_seed(12, 3)


def test_seeding_is_torchs_own_but_queues_nothing_for_devices_that_are_not_there():
    torch.manual_seed(3)
    expected = torch.rand(4)
    queued = len(torch.cuda._queued_calls)
    seed_everything(3)
    assert torch.equal(torch.rand(4), expected)
    assert len(torch.cuda._queued_calls) == queued


def draws() -> list[float]:
    return [random.random(), float(np.random.rand()), float(torch.rand(()))]


def test_a_randomness_of_ones_own_leaves_the_global_ones_where_they_were():
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = [draws(), draws()]
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    found = [draws()]
    with own_randomness(2**62):
        own = draws()
    found.append(draws())
    with own_randomness(2**62):
        assert draws() == own
    assert found == expected
