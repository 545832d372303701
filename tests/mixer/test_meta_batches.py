"""The stream of meta batches."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from metamixup.errors import UserError
from metamixup.mixer.meta_batches import MetaBatches

X, Y = torch.arange(10.0)[:, None], torch.arange(10)


def test_draws_anew_each_time_without_repeats_and_again_from_the_same_seed():
    stream, same = MetaBatches((X, Y), seed=3), MetaBatches(TensorDataset(X, Y), seed=3)
    first, second = stream.next(6), stream.next(6)
    assert len(first.y.unique()) == 6
    assert not torch.equal(first.y, second.y)
    assert torch.equal(first.x[:, 0].long(), first.y)
    assert torch.equal(second.index, second.y)
    assert torch.equal(same.next(6).y, first.y)
    assert len(stream.next(99).x) == 10


class Rows(Dataset):
    """Samples as dictionaries."""

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return {"pixel_values": X[i], "labels": int(Y[i])}


def test_samples_may_be_dictionaries():
    batch = MetaBatches(Rows(), seed=3).next(4)
    assert torch.equal(batch.x["pixel_values"][:, 0].long(), batch.y)
    assert torch.equal(batch.index, batch.y)
    tensors = MetaBatches(({"pixel_values": X}, Y), seed=3).next(4)
    assert torch.equal(tensors.x["pixel_values"], batch.x["pixel_values"])


def test_goes_through_a_loader_without_end():
    stream = MetaBatches(DataLoader(TensorDataset(X, Y), batch_size=4))
    assert [len(stream.next(1).x) for _ in range(4)] == [4, 4, 2, 4]


def test_an_empty_meta_set_is_refused():
    with pytest.raises(UserError, match="meta set is empty"):
        MetaBatches((X[:0], Y[:0]))
    with pytest.raises(UserError, match="gives no batch"):
        MetaBatches(DataLoader(TensorDataset(X[:0], Y[:0]))).next(3)
