"""Meta batches without end, from whatever a user keeps the meta set in."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, default_collate

from metamixup.errors import UserError
from metamixup.mixer.batches import Samples, parted, size_of
from metamixup.seeding import derived_generator

Source = Any  # (x, y) tensors, a Dataset of samples (x, y) or dictionaries, or a DataLoader of such batches


class MetaBatches:
    """`next(n)` gives a batch of n samples, drawn anew each time; all of them if there are fewer. Its index says where
    they stand in the meta set, for policies that remember them.

    source: the meta set: (x, y) tensors, a Dataset, or a DataLoader, which is gone through again and again and keeps
        its own batch size; its batches have no index.
    seed: decides what is drawn.
    """

    def __init__(self, source: Source, seed: int = 0):
        if isinstance(source, list) or (isinstance(source, tuple) and len(source) != 2):
            raise UserError("a meta set is (x, y) tensors, a Dataset or a DataLoader")
        if not isinstance(source, DataLoader) and _length(source) == 0:
            raise UserError("the meta set is empty; λ is learned from it, so it needs a few samples of each class")
        self.source, self.seed, self.steps = source, seed, 0
        self._loaded: Iterator[Any] | None = None

    def next(self, n: int) -> Samples:
        if isinstance(self.source, DataLoader):
            return self._from_loader(self.source)
        self.steps += 1
        rows = torch.randperm(_length(self.source), generator=derived_generator(self.seed, "meta", self.steps))[:n]
        if isinstance(self.source, tuple):
            x, y = self.source
            return Samples(_rows(x, rows), y[rows], rows)
        batch = parted(default_collate([self.source[int(i)] for i in rows]))
        return replace(batch, index=rows)

    def _from_loader(self, loader: DataLoader[Any]) -> Samples:
        for _ in range(2):
            self._loaded = self._loaded or iter(loader)
            for batch in self._loaded:
                return parted(batch)
            self._loaded = None
        raise UserError("the loader of the meta set gives no batch")


def _rows(x: Any, rows: Tensor) -> Any:
    return {name: part[rows] for name, part in x.items()} if isinstance(x, dict) else x[rows]


def _length(source: Source) -> int:
    return size_of(source[0]) if isinstance(source, tuple) else len(source)
