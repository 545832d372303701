"""Meta batches without end, from whatever a user keeps the meta set in."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, default_collate

from metamixup.errors import UserError
from metamixup.seeding import derived_generator

Source = Any  # (x, y) tensors, a Dataset of (x, y), or a DataLoader of (x, y)


class MetaBatches:
    """`next(n)` gives (x, y) of n samples, drawn anew each time; all of them if there are fewer. A DataLoader is
    gone through again and again and keeps its own batch size. `index` (n,): where the latest ones stand in the meta
    set, for policies that remember them; None for a DataLoader."""

    def __init__(self, source: Source, seed: int = 0):
        if not isinstance(source, DataLoader) and _length(source) == 0:
            raise UserError("the meta set is empty; λ is learned from it, so it needs a few samples of each class")
        self.source, self.seed, self.steps = source, seed, 0
        self.index: Tensor | None = None
        self._loaded: Iterator[Any] | None = None

    def next(self, n: int) -> tuple[Tensor, Tensor]:
        if isinstance(self.source, DataLoader):
            return self._from_loader(self.source)
        self.steps += 1
        rows = torch.randperm(_length(self.source), generator=derived_generator(self.seed, "meta", self.steps))[:n]
        self.index = rows
        if isinstance(self.source, tuple):
            return self.source[0][rows], self.source[1][rows]
        x, y = default_collate([self.source[int(i)] for i in rows])
        return x, y

    def _from_loader(self, loader: DataLoader[Any]) -> tuple[Tensor, Tensor]:
        for _ in range(2):
            self._loaded = self._loaded or iter(loader)
            for x, y in self._loaded:
                return x, y
            self._loaded = None
        raise UserError("the loader of the meta set gives no batch")


def _length(source: Source) -> int:
    return len(source[0]) if isinstance(source, tuple) else len(source)
