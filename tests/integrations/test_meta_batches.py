"""The stream of meta batches."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from metamixup.errors import UserError
from metamixup.integrations.meta_batches import MetaBatches

X, Y = torch.arange(10.0)[:, None], torch.arange(10)


def test_draws_anew_each_time_without_repeats_and_again_from_the_same_seed():
    stream, same = MetaBatches((X, Y), seed=3), MetaBatches(TensorDataset(X, Y), seed=3)
    first, second = stream.next(6), stream.next(6)
    assert len(first[1].unique()) == 6
    assert not torch.equal(first[1], second[1])
    assert torch.equal(first[0][:, 0].long(), first[1])
    assert torch.equal(stream.index, second[1])
    assert torch.equal(same.next(6)[1], first[1])
    assert len(stream.next(99)[0]) == 10


def test_goes_through_a_loader_without_end():
    stream = MetaBatches(DataLoader(TensorDataset(X, Y), batch_size=4))
    assert [len(stream.next(1)[0]) for _ in range(4)] == [4, 4, 2, 4]


def test_an_empty_meta_set_is_refused():
    with pytest.raises(UserError, match="meta set is empty"):
        MetaBatches((X[:0], Y[:0]))
    with pytest.raises(UserError, match="gives no batch"):
        MetaBatches(DataLoader(TensorDataset(X[:0], Y[:0]))).next(3)
