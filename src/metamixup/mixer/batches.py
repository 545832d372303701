"""Batches as users have them: tensors, tuples, dictionaries; with an index, and with labels among them."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import Dataset, IterableDataset

from metamixup.errors import UserError
from metamixup.mixing import Mixture, image_size

LABELS = ("labels", "label", "targets", "target", "y")
INDEX = ("index", "idx")
MASKS = ("attention_mask", "mask")
LENGTHS = ("lengths", "length")  # of sequences, in whole numbers; one of floats is a quantity
MOST_SAMPLES = 10**9  # a larger index is an identifier or a hash: a row is kept for every position below it

Inputs = Any  # a tensor, or a tuple, list or dictionary of tensors and of further ones


class Indexed(Dataset[Any]):
    """A data set whose samples carry their index: (x, y) becomes (x, y, i), a dictionary gets the key "index".

        loader = DataLoader(Indexed(dataset), batch_size=128, shuffle=True)
        for x, y, index in loader: …

    dataset: any map-style data set.
    """

    def __init__(self, dataset: Dataset[Any]):
        if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
            raise UserError("Indexed needs a data set whose samples have a place: dataset[i]; an iterable one has none")
        self.dataset, self._warned = dataset, False

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]

    def __getitem__(self, i: int) -> Any:
        sample = self.dataset[i]
        if isinstance(sample, Mapping):
            if not self._warned and sample.get(INDEX[0], i) != i:
                self._warned = True
                warnings.warn(
                    f"sample {i} has an entry {INDEX[0]!r} already, {sample[INDEX[0]]!r:.40}, in whose place Indexed "
                    f"puts {i}: rename it, or leave Indexed out if it is the sample's place in the training set",
                    stacklevel=2,
                )
            return {**sample, INDEX[0]: i}
        return (*sample, i) if isinstance(sample, tuple | list) else (sample, i)


@dataclass(frozen=True)
class Samples:
    """What a user's batch is made of. index: (B,) where the samples stand in their data set."""

    x: Inputs
    y: Any
    index: Any = None


def parted(batch: Any) -> Samples:
    """Inputs, labels and, where it has one, index of a batch: (x, y), (x, y, index), or a dictionary."""
    if isinstance(batch, Mapping):
        rest = dict(batch)
        y, index = (next((rest.pop(name) for name in names if name in rest), None) for names in (LABELS, INDEX))
        if y is None:
            raise UserError(f"a batch with the keys {', '.join(batch)} has no labels: call one of them 'labels'")
        return Samples(rest, y, index)
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise UserError(f"a batch is (x, y), (x, y, index) or a dictionary, not a {type(batch).__name__}")
    return Samples(*batch)


def arranged(x: Any, y: Any, more: tuple[Any, ...], index: Any, meta_index: Any) -> tuple[Samples, Samples | None]:
    """The batch and, where it was given, the meta batch."""
    if y is None:
        batch = parted(x)
    elif len(more) == 1:
        batch = Samples(x, y, more[0])
    elif len(more) in (0, 2):
        batch = Samples(x, y)
    else:
        raise UserError("call mixer(x, y, index) or mixer(x, y, x_meta, y_meta, index=index)")
    batch = batch if index is None else replace(batch, index=index)
    given = len(more) == 2 and more[0] is not None
    return batch, Samples(more[0], more[1], meta_index) if given else None


def labels_of(y: Any) -> Tensor:
    """A list, an array or a tensor of labels as a tensor, (B, …)."""
    try:
        labels = torch.as_tensor(y)
    except (TypeError, ValueError, RuntimeError) as error:
        named = isinstance(y, Iterable) and any(isinstance(label, str) for label in y)
        hint = ": give names of classes numbers, as by np.unique(names, return_inverse=True)[1]" if named else ""
        raise UserError(f"labels are a tensor, an array or a list of numbers, not these ({error}){hint}") from error
    if not labels.ndim:
        raise UserError("labels are one for each sample, (B,), not a single number")
    return labels


def index_of(index: Any, n: int, what: str = "index") -> Tensor:
    """A list, an array or a tensor of n positions as a tensor, (n,)."""
    try:
        found = torch.as_tensor(index)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"{what} is a list, an array or a tensor of whole numbers, not a {type(index).__name__}"
        ) from error
    if found.numel() and (found.is_floating_point() or found.dtype == torch.bool or found.is_complex()):
        raise UserError(f"{what} holds positions in the data set, whole numbers, not {found.dtype}")
    if found.shape != (n,):
        raise UserError(f"{what} has the shape {tuple(found.shape)}; a batch of {n} samples needs ({n},)")
    if n and int(found.min()) < 0:
        raise UserError(f"{what} holds {int(found.min())}; positions in the data set are at least 0")
    if n and int(found.max()) >= MOST_SAMPLES:
        raise UserError(
            f"{what} holds {int(found.max())}; an index is the place of a sample in the data set, 0 to N − 1, "
            "not an identifier or a hash: metamixup.Indexed(dataset) counts them"
        )
    return found.long()


def places_of(index: Any) -> Tensor:
    """Positions that are asked about, (n,): as `index_of`, a single one, or a mask that is True for those meant."""
    try:
        found = torch.as_tensor(index)
    except (TypeError, ValueError, RuntimeError):
        return index_of(index, 0)  # which tells what it is
    if found.dtype == torch.bool and found.ndim == 1:
        found = found.nonzero()[:, 0]
    found = found.reshape(1) if found.ndim == 0 else found
    return index_of(found, len(found))


def tensors_of(x: Inputs) -> list[Tensor]:
    """The tensors that inputs are made of."""
    return [part for _, part in _named_tensors(x)]


def _named_tensors(x: Inputs, name: Any = "") -> Iterator[tuple[Any, Tensor]]:
    """The same, each with the key that it, or what it lies in, has in a dictionary."""
    if isinstance(x, PackedSequence):
        raise UserError(
            "a PackedSequence has no row a sample: give a dictionary of padded sequences and their 'lengths', and pack "
            "them in the model, with enforce_sorted=False"
        )
    if isinstance(x, Tensor):
        yield name, x
    elif isinstance(x, Mapping):
        for key, part in x.items():
            yield from _named_tensors(part, key)
    elif isinstance(x, tuple | list):
        for part in x:
            yield from _named_tensors(part, name)


def size_of(x: Inputs, labels: int) -> int:
    """How many samples there are: as many as labels where a part has as many rows, otherwise the rows of the first."""
    if not tensors_of(x):
        kind = type(x).__name__
        hint = ": torch.as_tensor(x) makes one" if isinstance(x, np.ndarray | list) else ""
        raise UserError(f"inputs are a tensor, or a dictionary or tuple of tensors, not a {kind}{hint}")
    rows = [part for part in tensors_of(x) if part.ndim]
    if not rows:
        raise UserError("inputs have no dimension of samples: give a batch, (B, …), not a single number")
    return labels if any(len(part) == labels for part in rows) else len(rows[0])


def by_sample(x: Inputs, n: int) -> tuple[list[Tensor], list[Tensor]]:
    """Of the parts with a row for each of n samples those that can be blended, and those that cannot, as categories: of
    these a blend keeps its first sample's. Masks, lengths and flags are neither."""
    rows = [(name, part) for name, part in _named_tensors(x) if part.ndim]
    parts = [part for name, part in rows if len(part) == n and not is_joined(name, part) and part.dtype != torch.bool]
    return [part for part in parts if part.is_floating_point()], [
        part for part in parts if not part.is_floating_point()
    ]


def image_size_of(x: Inputs, n: int) -> tuple[int, int] | None:
    """Height and width, where all that can be blended is images of one size; a mask is none."""
    masked = any(name in MASKS for name, _ in _named_tensors(x))
    sizes = set() if masked else {image_size(part) for part in by_sample(x, n)[0]}
    return sizes.pop() if len(sizes) == 1 else None


def to_device(x: Inputs, device: torch.device) -> Inputs:
    return _each(x, lambda _, part: part.to(device))


def taken_by(model: nn.Module, x: Inputs) -> Inputs:
    """Of a dictionary the entries that the model is called with: those that are named as its parameters are or, where
    none is, the only one of floats; file names and the like are left out."""
    if not isinstance(x, Mapping) or not all(isinstance(name, str) for name in x):
        return x
    signature = inspect.signature(model.forward)
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in signature.parameters.values()):
        return x
    known = {name: part for name, part in x.items() if name in signature.parameters}
    floats = {name: part for name, part in x.items() if isinstance(part, Tensor) and part.is_floating_point()}
    found = known or (floats if len(floats) == 1 else {})
    try:
        signature.bind(**known) if known else signature.bind(*found.values())
    except TypeError as error:
        raise UserError(
            f"the model takes ({', '.join(signature.parameters)}), the batch has {', '.join(x)}: name its parts as the "
            "model does, or give them one by one, as in mixer(batch['image'], batch['label'], batch['index'])"
        ) from error
    return found


def call(net: Callable[..., Any], x: Inputs) -> Any:
    """A dictionary's entries are named arguments (a single one needs no name), a tuple's are arguments in order."""
    if isinstance(x, Mapping):
        return net(**x) if len(x) > 1 else net(*x.values())
    return net(*x) if isinstance(x, tuple | list) else net(x)


@contextmanager
def naming_meta_samples(x: Inputs, x_meta: Inputs, n: int) -> Iterator[None]:
    """Where the network fails at a single meta sample, or at some that are not as those of the batch, that is the
    likely reason. n: how many meta samples there are."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if n == 1:
            raise UserError(
                "the model does not take a meta batch of one sample, as BatchNorm in training does not: let the meta "
                "set have a few samples of each class"
            ) from error
        ours, theirs = (", ".join(f"{tuple(t.shape[1:])} of {t.dtype}" for t in tensors_of(of)) for of in (x, x_meta))
        if ours == theirs:
            raise
        raise UserError(
            f"the model does not take the meta set: its samples are {theirs}, those of the batch {ours}"
        ) from error


def blended(x: Inputs, mixture: Mixture, n: int) -> Inputs:
    """Every floating part with a row for each of n samples is blended. Of two masks, or two lengths, there is what one
    of them has: half of that has no meaning."""

    def blend(name: Any, part: Tensor) -> Tensor:
        if is_joined(name, part):
            return joined(part, mixture)
        return mixture.inputs(part) if part.is_floating_point() else part.view_as(part)

    return _each_row(x, blend, n)


def chosen(x: Inputs, rows: Tensor, n: int) -> Inputs:
    """These of n samples as they are, in arrays and lists too, as of file names. rows: (m,)."""
    if isinstance(x, Tensor | np.ndarray):
        return x[rows if isinstance(x, Tensor) else rows.cpu().numpy()] if x.ndim and len(x) == n else x
    if isinstance(x, list) and len(x) == n and not tensors_of(x):
        return [x[i] for i in rows.tolist()]
    return _within(x, lambda _, part: chosen(part, rows, n))


def covering(x: Inputs, mixture: Mixture, n: int) -> Inputs:
    """For blends inside the network: its inputs stay, but for masks and lengths."""
    return _each_row(x, lambda name, part: joined(part, mixture) if is_joined(name, part) else part.view_as(part), n)


def is_joined(name: Any, part: Tensor) -> bool:
    return name in MASKS or (name in LENGTHS and not part.is_floating_point())


def joined(mask: Tensor, mixture: Mixture) -> Tensor:
    """Where one of two partners has a token their blend has one; a sample that is not blended keeps its own. mask:
    (B, …), or lengths, (B,)."""
    own, other, lam = mask, mask[mixture.partner], mixture.lam.reshape(-1, *[1] * (mask.ndim - 1))
    return torch.where(lam == 1, own, torch.where(lam == 0, other, torch.maximum(own, other)))


def _each_row(x: Inputs, change: Callable[[Any, Tensor], Tensor], n: int) -> Inputs:
    """The same inputs with every tensor changed that has a row for each of n samples; what all samples share stays. By
    its n rows alone a part is known: a shared one that has as many by chance is taken for theirs."""
    return _each(x, lambda name, part: change(name, part) if part.ndim and len(part) == n else part.view_as(part))


def _each(x: Inputs, change: Callable[[Any, Tensor], Tensor], name: Any = "") -> Inputs:
    """The same inputs with every tensor changed, however deep it lies; what is no tensor stays. A tensor has the name
    of the key that leads to it."""
    if isinstance(x, Tensor):
        return change(name, x)
    return _within(x, lambda key, part: _each(part, change, key), name)


def _within(x: Inputs, change: Callable[[Any, Inputs], Inputs], name: Any = "") -> Inputs:
    """The same dictionary, tuple or list of changed parts; what is none of these stays."""
    if isinstance(x, Mapping):
        return {key: change(key, part) for key, part in x.items()}
    if isinstance(x, tuple | list):
        parts = [change(name, part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x
