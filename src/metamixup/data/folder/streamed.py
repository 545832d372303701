"""Images that are decoded whenever they are asked for: for folders whose cache does not fit on the disk."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metamixup.data.folder.decode import decode, without_pillow_warnings


class StreamedImages:
    """Stands in for an (N, C, H, W) uint8 tensor where only whole images are read."""

    dtype = torch.uint8
    device = torch.device("cpu")
    ndim = 4

    def __init__(self, files: list[Path], shape: tuple[int, int, int]) -> None:
        self.files = files
        self.shape = torch.Size((len(files), *shape))

    def __len__(self) -> int:
        return len(self.files)

    def numel(self) -> int:
        return self.shape.numel()

    def index_select(self, dim: int, index: Tensor) -> Tensor:
        if dim:
            raise NotImplementedError("streamed images are selected along their first dimension only")
        return self._decoded([self.files[position] for position in index.tolist()])

    def __getitem__(self, which: int | slice | Tensor) -> Tensor:
        if isinstance(which, Tensor):
            return self.index_select(0, which.nonzero()[:, 0] if which.dtype == torch.bool else which)
        if isinstance(which, slice):
            return self._decoded(self.files[which])
        return self._decoded([self.files[which]])[0]

    def split(self, size: int) -> Iterator[Tensor]:
        return (self[start : start + size] for start in range(0, len(self), size))

    def _decoded(self, files: list[Path]) -> Tensor:
        channels, size = self.shape[1], self.shape[2]
        # Pillow lets go of the interpreter while it decodes: threads are enough, and nothing has to be copied.
        with without_pillow_warnings(), ThreadPoolExecutor() as pool:
            arrays = list(pool.map(lambda path: decode(path, size, channels), files))
        return torch.from_numpy(np.stack(arrays)) if arrays else torch.empty(0, *self.shape[1:], dtype=self.dtype)
