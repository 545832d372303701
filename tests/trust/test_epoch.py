import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metamixup.trust.epoch import Epoch


def shuffled(samples: int, batch: int, drop_last: bool, seed: int) -> tuple[torch.Tensor, ...]:
    """The batches of one epoch."""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed))
    return order[: samples // batch * batch if drop_last else samples].split(batch)


@given(
    samples=st.integers(80, 400), batch=st.integers(1, 20), drop_last=st.booleans(), gaps=st.sampled_from([1, 3, 5000])
)
def test_from_the_third_epoch_on_it_is_known_how_much_is_over(samples: int, batch: int, drop_last: bool, gaps: int):
    epoch = Epoch()
    for number in range(5):
        batches = shuffled(samples, batch, drop_last, seed=number)
        for k, index in enumerate(batches, 1):
            epoch.see(index * gaps)
            # Where the rest of a batch is dropped, an epoch may begin with samples that the last one left out.
            late = batch if drop_last and samples % batch else 0
            if number > 1:
                assert epoch.over == pytest.approx(k / len(batches), abs=(batch + late) / (len(batches) * batch) + 1e-9)


def test_nothing_is_told_of_samples_that_are_drawn_with_replacement():
    epoch, generator = Epoch(), torch.Generator().manual_seed(0)
    for _ in range(1000):
        epoch.see(torch.randint(0, 1000, (16,), generator=generator))
        assert epoch.over is None


def test_samples_without_an_index_are_passed_over():
    epoch = Epoch()
    for _ in range(5):
        epoch.see(torch.tensor([-1, -1]))
    assert epoch.over is None


def test_a_copy_by_its_state_goes_on_alike():
    epoch, copy = Epoch(), Epoch()
    batches = [index for seed in range(3) for index in shuffled(50, 8, drop_last=False, seed=seed)]
    for index in batches[:18]:
        epoch.see(index)
    copy.load_state_dict(epoch.state_dict())
    for index in batches[18:]:
        epoch.see(index)
        copy.see(index)
        assert copy.over == epoch.over is not None
