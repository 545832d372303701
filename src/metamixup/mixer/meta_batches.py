"""Meta batches without end, from whatever a user keeps the meta set in."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, default_collate

from metamixup.errors import UserError
from metamixup.mixer.batches import Samples, chosen, labels_of, parted, size_of
from metamixup.seeding import derived_generator, derived_seed, own_randomness

Source = Any  # (x, y) tensors, a Dataset of samples (x, y) or dictionaries, or a DataLoader of such batches


class MetaBatches:
    """`next(n)` gives a batch of n samples, drawn anew each time; all of them if there are fewer. They keep their
    order, and the index says where they stand in the meta set, for policies that remember them.

    source: the meta set: (x, y) tensors, a Dataset, or a DataLoader, which is gone through again and again and keeps
        its own batch size; its batches have no index, and one of a single sample is left out.
    seed: decides what is drawn, by a loader and by random transforms too: the global random states stay.
    """

    def __init__(self, source: Source, seed: int = 0):
        self.source, self.seed, self.steps = _checked(source), seed, 0
        self._loaded: Iterator[Any] | None = None

    def next(self, n: int) -> Samples:
        self.steps += 1
        if isinstance(self.source, DataLoader):
            with own_randomness(derived_seed(self.seed, "meta", self.steps)):
                return self._from_loader(self.source)
        rows = self._drawn(n, _length(self.source))
        if isinstance(self.source, tuple):
            x, y = self.source
            return Samples(chosen(x, rows, len(y)), y[rows], rows)
        with own_randomness(derived_seed(self.seed, "meta", self.steps)):
            batch = parted(default_collate([self.source[int(i)] for i in rows]))
        return replace(batch, index=rows)

    def _drawn(self, n: int, of: int) -> Tensor:
        """Sorted: a meta set that lies from the longest sequence to the shortest is to stay so, as packing may ask."""
        order = torch.randperm(of, generator=derived_generator(self.seed, "meta", self.steps))
        return order[:n].sort().values

    def _from_loader(self, loader: DataLoader[Any]) -> Samples:
        empty = True
        for _ in range(2):
            self._loaded = self._loaded or iter(loader)
            for batch in self._loaded:
                found, empty = parted(batch), False
                if len(labels_of(found.y)) > 1:  # the last one may be single, and BatchNorm needs company
                    return found
            self._loaded = None
        raise UserError(f"the loader of the meta set gives no batch{'' if empty else ' of more than one sample'}")


def _checked(source: Source) -> Source:
    """As it is drawn from. Its mistakes are told with its name, since the batches may have the same."""
    if isinstance(source, list) or (isinstance(source, tuple) and len(source) != 2):
        raise UserError("a meta set is (x, y) tensors, a Dataset or a DataLoader")
    if isinstance(source, DataLoader):
        return source
    if isinstance(source, tuple):
        source = _checked_tensors(*source)
    elif isinstance(source, IterableDataset) or not (hasattr(source, "__len__") and hasattr(source, "__getitem__")):
        raise UserError(
            "samples of the meta set are drawn by their place, and a "
            f"{type(source).__name__} has none: give (x, y) tensors, a Dataset with a length, or a DataLoader of it"
        )
    if _length(source) == 0:
        raise UserError("the meta set is empty; λ is learned from it, so it needs a few samples of each class")
    return source


def _checked_tensors(x: Any, y: Any) -> tuple[Any, Tensor]:
    try:
        labels = labels_of(y)
        n = size_of(x, len(labels))
    except UserError as error:
        raise UserError(f"the meta set is not (x, y) tensors: {error}") from error
    if len(labels) != n:
        raise UserError(f"the meta set has {n} samples and {len(labels)} labels")
    return x, labels


def _length(source: Source) -> int:
    return len(source[1] if isinstance(source, tuple) else source)
