"""The stream of meta batches."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

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


@pytest.mark.parametrize("source", [(X, Y), TensorDataset(X, Y)])
def test_samples_keep_their_order_which_may_be_that_of_their_lengths(source):
    stream = MetaBatches(source, seed=3)
    for _ in range(3):
        index = stream.next(6).index
        assert torch.equal(index, index.sort().values)


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


def test_samples_may_have_several_parts_and_names():
    more = {
        "depth": X + 1,
        "file": [f"{i}.jpg" for i in range(10)],
        "array": X.numpy(),
        "kinds": ["a", "b"],
        "scale": 2.0,
    }
    found = MetaBatches(((X, more), Y), seed=3).next(4)
    rows = found.index.tolist()
    assert torch.equal(found.x[0], X[rows])
    assert torch.equal(found.x[1]["depth"], X[rows] + 1)
    assert found.x[1]["file"] == [f"{i}.jpg" for i in rows]
    assert found.x[1]["array"].tolist() == X[rows].tolist()
    assert (found.x[1]["kinds"], found.x[1]["scale"]) == (["a", "b"], 2.0), "shared by all"


def test_goes_through_a_loader_without_end():
    stream = MetaBatches(DataLoader(TensorDataset(X, Y), batch_size=4))
    assert [len(stream.next(1).x) for _ in range(4)] == [4, 4, 2, 4]


class Augmented(Dataset):
    """Draws from every global random state."""

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return X[i] + torch.rand(1) + random.random() + np.random.rand(), Y[i]


@pytest.mark.parametrize("source", [Augmented(), DataLoader(Augmented(), batch_size=4, shuffle=True)])
def test_the_global_random_states_stay_and_draws_differ(source):
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    one, other = (MetaBatches(source, seed=3) for _ in range(2))
    drawn = [one.next(4).x for _ in range(3)]
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]
    assert torch.equal(torch.get_rng_state(), before[2])
    assert not torch.equal((drawn[0] % 1).sort(0)[0], (drawn[1] % 1).sort(0)[0])
    for x in drawn:
        assert torch.equal(other.next(4).x, x)


def test_labels_may_be_a_list():
    found = MetaBatches((X[:4], [0, 1, 2, 0])).next(4)
    assert found.y.tolist() == [[0, 1, 2, 0][i] for i in found.index]


def test_a_last_batch_of_one_sample_is_left_out():
    stream = MetaBatches(DataLoader(TensorDataset(X[:9], Y[:9]), batch_size=4))
    assert [len(stream.next(1).x) for _ in range(4)] == [4, 4, 4, 4]
    with pytest.raises(UserError, match="gives no batch of more than one sample"):
        MetaBatches(DataLoader(TensorDataset(X, Y), batch_size=1)).next(3)


class Endless(IterableDataset):
    def __iter__(self):
        return iter(range(9))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ((X, Y[:3]), "the meta set has 10 samples and 3 labels"),
        ((X, 3), "the meta set is not .* not a single number"),
        ((X, ["a"] * 10), "the meta set is not .* give names of classes numbers"),
        ((X.numpy(), Y), "the meta set is not .* torch.as_tensor"),
        (Endless(), "Endless has none"),
        (7, "int has none"),
    ],
)
def test_what_is_no_meta_set_is_told_with_its_name(source, told):
    with pytest.raises(UserError, match=told):
        MetaBatches(source)


def test_an_empty_meta_set_is_refused():
    with pytest.raises(UserError, match="meta set is empty"):
        MetaBatches((X[:0], Y[:0]))
    with pytest.raises(UserError, match="gives no batch"):
        MetaBatches(DataLoader(TensorDataset(X[:0], Y[:0]))).next(3)
