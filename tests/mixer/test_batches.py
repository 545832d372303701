"""Batches, indices and outputs as users have them."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from metamixup import Indexed, MetaMixUp
from metamixup.errors import UserError
from metamixup.mixer.batches import blended, chosen, covering, index_of, labels_of, parted, places_of
from metamixup.mixing import Mixture
from metamixup.network import logits_of

X, Y = torch.randn(24, 5), torch.arange(24) % 3


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))


class Named(NamedTuple):
    image: torch.Tensor
    label: torch.Tensor


class Rows(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        return {"pixel_values": X[i], "labels": Y[i]}


def test_a_loader_of_an_indexed_data_set_gives_each_samples_place():
    x, y, index = next(iter(DataLoader(Indexed(TensorDataset(X, Y)), batch_size=24, shuffle=True)))
    assert torch.equal(x, X[index])
    assert torch.equal(y, Y[index])
    batch = next(iter(DataLoader(Indexed(Rows()), batch_size=24, shuffle=True)))
    assert torch.equal(batch["pixel_values"], X[batch["index"]])
    assert len(Indexed(Rows())) == 24


def test_an_index_that_a_sample_has_already_is_told_of_once():
    same, other = ([{"x": X[i], "labels": Y[i], "index": i + shift} for i in range(24)] for shift in (0, 1))
    assert [Indexed(same)[i]["index"] for i in range(24)] == list(range(24))
    indexed = Indexed(other)
    with pytest.warns(UserWarning, match="sample 0 has an entry 'index' already, 1") as told:
        assert [indexed[i]["index"] for i in range(24)] == list(range(24))
    assert len(told) == 1


def test_a_data_set_without_places_is_refused():
    class Endless(IterableDataset):
        def __iter__(self):
            return iter(range(9))

    with pytest.raises(UserError, match="an iterable one has none"):
        Indexed(Endless())


def test_batches_are_tuples_named_tuples_and_dictionaries():
    index = torch.arange(24)
    for batch in ((X, Y), [X, Y], Named(X, Y), {"x": X, "labels": Y}, {"x": X, "target": Y}):
        found = parted(batch)
        assert torch.equal(found.y, Y)
        assert found.index is None
    assert parted((X, Y, index)).index is index
    assert parted({"x": X, "y": Y, "idx": index}).index is index


@pytest.mark.parametrize("wrong", [X, "text", (X,), (X, Y, Y, Y), {"x": X}])
def test_what_is_no_batch_is_told(wrong):
    with pytest.raises(UserError, match=r"a batch is|has no labels"):
        parted(wrong)


@pytest.mark.parametrize(
    ("labels", "told"),
    [(["cat", "dog"] * 12, "give names of classes numbers"), (np.array(["cat"] * 24), "give names"), (1, "a single n")],
)
def test_labels_that_are_no_numbers_are_told(labels, told):
    with pytest.raises(UserError, match=told):
        MetaMixUp(net(), 3, lr=0.1)(X, labels)


@pytest.mark.parametrize("labels", [[[0, 1], [2]], None, [None] * 24])
def test_labels_that_are_neither_numbers_nor_names_are_not_taken_for_names(labels):
    with pytest.raises(UserError, match="labels are a tensor, an array or a list of numbers") as told:
        labels_of(labels)
    assert "names" not in str(told.value)


@pytest.mark.parametrize("index", [[1, 0, 2], np.array([1, 0, 2]), torch.tensor([1, 0, 2], dtype=torch.int32)])
def test_an_index_is_a_list_an_array_or_a_tensor(index):
    assert index_of(index, 3).tolist() == [1, 0, 2]
    assert index_of(index, 3).dtype == torch.int64
    assert index_of([], 0).dtype == torch.int64, "of an empty batch"


@pytest.mark.parametrize(
    ("index", "told"),
    [
        ([0, -1, 2], "at least 0"),
        ([0, 2**40, 2], "not an identifier or a hash"),
        ([0, 1], r"needs \(3,\)"),
        ([0.0, 1.0, 2.0], "whole numbers"),
        ([True, False, True], "whole numbers"),
        (["a", "b", "c"], "a list, an array or a tensor"),
        (3, r"needs \(3,\)"),
    ],
)
def test_an_index_that_makes_no_sense_is_refused(index, told):
    with pytest.raises(UserError, match=told):
        index_of(index, 3)


@pytest.mark.parametrize(
    "index", [[1, 3], np.array([1, 3]), torch.tensor([1, 3]), torch.tensor([False, True, False, True]), range(1, 4, 2)]
)
def test_places_that_are_asked_about_are_positions_or_a_mask(index):
    assert places_of(index).tolist() == [1, 3]
    assert places_of([False, True]).tolist() == [1]
    assert places_of(3).tolist() == places_of(torch.tensor(3)).tolist() == [3]
    assert places_of([]).tolist() == []


@pytest.mark.parametrize(("index", "told"), [("all", "a list, an array"), ([0.5], "whole numbers"), ([-1], "at least")])
def test_places_that_make_no_sense_are_refused(index, told):
    with pytest.raises(UserError, match=told):
        places_of(index)


class Answering(nn.Module):
    """Returns its logits in the way of some library."""

    def __init__(self, way):
        super().__init__()
        self.net, self.way = net(), way

    def forward(self, x):
        return self.way(self.net(x))


WAYS = {
    "object": lambda z: SimpleNamespace(logits=z, hidden=None),
    "dictionary": lambda z: {"loss": None, "logits": z},
    "tuple": lambda z: (z, None),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", ["trust", "learned"])
def test_models_may_return_objects_dictionaries_and_tuples(way, policy):
    torch.manual_seed(0)
    plain, answering = net(), Answering(WAYS[way])
    answering.net.load_state_dict(plain.state_dict())
    lams = []
    for model in (plain, answering):
        mixed = MetaMixUp(model, 3, meta=(X, Y), lr=0.1, policy=policy)(X, Y)
        cross_entropy(logits_of(mixed.outputs(model)), mixed.y).backward()
        lams.append(mixed.lam)
    assert torch.equal(*lams)


def test_a_cross_entropy_of_ones_own_is_given_their_logits():
    model = Answering(WAYS["object"])
    mixer = MetaMixUp(model, 3, meta=(X, Y), lr=0.1, loss=nn.CrossEntropyLoss(label_smoothing=0.1))
    assert mixer(X, Y, range(24)).outputs(model).logits.shape == (24, 3)


def test_an_answer_without_logits_is_told():
    with pytest.raises(UserError, match="without logits"):
        logits_of(SimpleNamespace(scores=X))


def test_dictionaries_are_blended_like_the_tensors_in_them():
    torch.manual_seed(0)
    model = net()
    plain = MetaMixUp(model, 3, meta=(X, Y), lr=0.1)(X, Y, range(24))
    named = MetaMixUp(model, 3, meta=({"input": X}, Y), lr=0.1)({"input": X, "labels": Y, "index": list(range(24))})
    assert torch.equal(plain.lam, named.lam)
    assert torch.equal(plain.x, named.x["input"])
    assert torch.equal(plain.outputs(model), named.outputs(model))


def test_a_dictionary_may_hold_what_the_model_is_not_called_with():
    torch.manual_seed(0)
    model, rows = net(), list(range(24))
    batch = {"name": [f"{i}.jpg" for i in rows], "id": torch.arange(24), "image": X, "target": Y, "index": rows}
    plain = MetaMixUp(model, 3, meta=(X, Y), lr=0.1)(X, Y, rows)
    mixed = MetaMixUp(model, 3, meta=({"id": Y, "image": X}, Y), lr=0.1)(batch)
    assert torch.equal(plain.x, mixed.x["image"])
    assert torch.equal(plain.outputs(model), mixed.outputs(model))


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, image, depth=None):
        return self.net(image if depth is None else image + depth)


def test_parts_that_are_named_as_the_models_parameters_are_go_there():
    batch = {"id": torch.arange(24), "depth": X, "image": X, "labels": Y}
    mixed = MetaMixUp(TwoInputs(), 3, meta=(X, Y), lr=0.1)(batch)
    assert sorted(mixed.x) == ["depth", "image"]


@pytest.mark.parametrize("model", [net(), TwoInputs()])
def test_parts_that_could_be_anything_are_told(model):
    with pytest.raises(UserError, match=r"the batch has photo, other: name its parts .* mixer\(batch\['image'\]"):
        MetaMixUp(model, 3, meta=(X, Y), lr=0.1)({"photo": X, "other": X, "labels": Y})


@pytest.mark.parametrize("join", [blended, covering])
def test_masks_cover_both_partners_of_a_blend_and_no_one_elses(join):
    tokens, mask = torch.arange(12).view(4, 3), torch.tensor([[1, 1, 0], [1, 0, 0], [1, 0, 0], [1, 1, 0]])
    mixture = Mixture(torch.tensor([0.5, 0.5, 1.0, 0.0]), torch.tensor([1, 0, 0, 1]))
    for kind in (torch.int64, torch.bool, torch.float32):
        found = join({"input_ids": tokens, "attention_mask": mask.to(kind)}, mixture, 4)
        assert found["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 0]]
        assert found["attention_mask"].dtype == kind
        assert torch.equal(found["input_ids"], tokens)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.recur, self.out = nn.GRU(5, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.out(self.recur(packed)[1][0])


def test_a_blend_of_two_sequences_is_as_long_as_the_longer():
    x, lengths = torch.randn(24, 4, 5), torch.arange(24) % 4 + 1
    x = x * (torch.arange(4) < lengths[:, None])[..., None]
    model = Recurrent()
    mixed = MetaMixUp(model, 3, policy="beta")({"x": x, "lengths": lengths, "labels": Y})  # a warning would be an error
    assert torch.equal(mixed.x["lengths"], torch.maximum(lengths, lengths[mixed.partner]))
    assert mixed.outputs(model).shape == (24, 3)


def test_up_to_the_features_sequences_keep_their_own_lengths():
    x, lengths, model = torch.randn(24, 4, 5), torch.arange(24) % 4 + 1, Recurrent()
    mixed = MetaMixUp(model, 3, policy="beta", mix_at="features")({"x": x, "lengths": lengths, "labels": Y})
    assert torch.equal(mixed.given["lengths"], lengths)
    features = model.recur(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[1][0]
    assert torch.allclose(mixed.outputs(model), model.out(mixed.mixture.inputs(features)), atol=1e-6)


def test_a_length_of_floats_is_a_quantity_and_blended():
    x, mixture = {"length": torch.tensor([1.0, 3.0])}, Mixture(torch.tensor([0.5, 0.5]), torch.tensor([1, 0]))
    assert blended(x, mixture, 2)["length"].tolist() == [2, 2]


@pytest.mark.parametrize("hidden", [0.0, float("-inf")])
def test_masks_of_floats_and_single_numbers_are_not_blended(hidden):
    mask = torch.tensor([[1.0, hidden], [hidden, hidden]])
    x = {"values": torch.randn(2, 2), "attention_mask": mask, "scale": torch.tensor(2.0)}
    mixture = Mixture(torch.tensor([0.5, 0.5]), torch.tensor([1, 0]))
    for found in (blended(x, mixture, 2), covering(x, mixture, 2)):
        assert found["scale"] == 2
        assert found["attention_mask"].tolist() == [[1.0, hidden], [1.0, hidden]]
    assert torch.equal(blended(x, mixture, 2)["values"], mixture.inputs(x["values"]))


def test_parts_are_blended_however_deep_they_lie():
    depth, views = torch.randn(24, 2), [torch.randn(24, 4), torch.randn(24, 3)]
    mixture = Mixture(torch.full((24,), 0.3), torch.arange(24).flip(0))
    x = {"pair": Named(X, depth), "more": {"views": views, "attention_mask": torch.ones(24, 2), "file": "a.jpg"}}
    found = blended(x, mixture, 24)
    assert isinstance(found["pair"], Named)
    assert isinstance(found["more"]["views"], list)
    parts = [*found["pair"], *found["more"]["views"]]
    assert all(map(torch.equal, parts, map(mixture.inputs, [X, depth, *views])))
    assert found["more"]["attention_mask"].eq(1).all()
    assert found["more"]["file"] == "a.jpg"
    assert torch.equal(chosen(x, mixture.partner, 24)["more"]["views"][1], views[1].flip(0))


@pytest.mark.parametrize("nodes", [3, 24 + 1])
@pytest.mark.parametrize("at", [0, 1])
def test_what_all_samples_share_is_not_blended_wherever_it_stands(nodes, at):
    edges = torch.randn(nodes, nodes)
    x = (edges, X) if at == 0 else (X, edges)
    mixture = Mixture(torch.full((24,), 0.3), torch.arange(24).flip(0))
    for found in (blended(x, mixture, 24), covering(x, mixture, 24), chosen(x, mixture.partner, 24)):
        assert torch.equal(found[at], edges)
    assert torch.equal(blended(x, mixture, 24)[1 - at], mixture.inputs(X))


class Graph(nn.Module):
    """Nodes are summed along edges that all samples share."""

    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, edges, x):
        return self.net(x @ edges)


def test_a_shared_part_may_come_first():
    torch.manual_seed(0)
    model, edges = Graph(), torch.eye(5)
    plain = MetaMixUp(model.net, 3, meta=(X[:9], Y[:9]), lr=0.1)
    shared = MetaMixUp(model, 3, meta=((edges, X[:9]), Y[:9]), lr=0.1)
    for _ in range(3):
        mixed, found = plain(X, Y, range(24)), shared((edges, X), Y, range(24))
        assert torch.equal(found.x[0], edges)
        assert torch.equal(found.x[1], mixed.x)
    with pytest.raises(UserError, match="5 samples have 7 labels"):
        shared((edges, X), Y[:7])


def test_packed_sequences_are_told_where_to_be_packed():
    packed = pack_padded_sequence(torch.randn(24, 4, 5), torch.full((24,), 4), batch_first=True)
    with pytest.raises(UserError, match="pack them in the model, with enforce_sorted=False"):
        MetaMixUp(net(), 3, lr=0.1)(packed, Y)


class Categories(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(4, 5), nn.Linear(5, 3)

    def forward(self, kind, mask=None, values=0.0):
        mask = torch.ones(len(kind), 1) if mask is None else mask
        return self.out(self.embed(kind) * mask + values)


def test_inputs_that_cannot_be_blended_beside_others_are_told_of_once():
    kind, batch = torch.arange(24) % 4, {"values": X, "labels": Y}
    mixer = MetaMixUp(Categories(), 3, lr=0.1)
    with pytest.warns(UserWarning, match=r"inputs of .*int64 cannot be blended: of each pair the first"):
        mixer({**batch, "kind": kind})
    mixer({**batch, "kind": kind})  # a second warning would be an error
    MetaMixUp(Categories(), 3, lr=0.1, mix_at="features")({**batch, "kind": kind})


def test_a_mask_of_floats_alone_does_not_make_tokens_blendable():
    with pytest.raises(UserError, match=r"inputs of .*int64 cannot be blended: of tokens give mix_at the name"):
        MetaMixUp(Categories(), 3, lr=0.1)({"mask": torch.ones(24, 1), "kind": Y, "labels": Y})


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, mask):
        return self.net(mask)


def test_inputs_that_are_called_a_mask_are_to_be_renamed():
    with pytest.raises(UserError, match=r"'attention_mask' or 'mask' is joined .* rename it"):
        MetaMixUp(Masked(), 3, lr=0.1)({"mask": X, "labels": Y})
