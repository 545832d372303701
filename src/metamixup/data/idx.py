"""MNIST's idx format, plain or gzipped: a magic number, big-endian sizes, then bytes."""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import torch
from torch import Tensor

from metamixup.data.bounds import check_declared
from metamixup.data.images import ImageSet
from metamixup.errors import DataError

UNSIGNED_BYTE = 8


def read_idx(path: Path, ndim: int) -> Tensor:
    """The uint8 array of an idx file with `ndim` dimensions. Nothing is allocated on the header's word alone."""
    try:
        with path.open("rb") as raw:
            if raw.read(2) == b"\x1f\x8b":
                raw.seek(0)
                with gzip.open(raw) as unpacked:
                    return _parse(path, cast(BinaryIO, unpacked), ndim)
            raw.seek(0)
            return _parse(path, raw, ndim)
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"{path}: cannot be read as an idx file ({problem}); fetch it again") from problem


def _parse(path: Path, stream: BinaryIO, ndim: int) -> Tensor:
    header = stream.read(4 + 4 * ndim)
    if len(header) < 4 or header[:4] != bytes([0, 0, UNSIGNED_BYTE, ndim]):
        raise DataError(f"{path}: not an idx file of bytes with {ndim} dimension(s): it starts with {header[:4].hex()}")
    if len(header) < 4 + 4 * ndim:
        raise DataError(f"{path}: truncated within its header")
    shape = struct.unpack(f">{ndim}I", header[4:])
    size = math.prod(shape)
    check_declared(path, size)
    values = np.empty(size, np.uint8)
    found = _fill(stream, values)
    if found < size or stream.read(1):
        raise DataError(f"{path}: its header promises {size} bytes, but it holds {'fewer' if found < size else 'more'}")
    return torch.from_numpy(values).reshape(shape)


def _fill(stream: BinaryIO, values: np.ndarray) -> int:
    """Read into `values` until it is full or the file ends; the number of bytes read."""
    found, view = 0, values.data
    while found < len(values) and (part := stream.readinto(view[found:])):  # type: ignore[attr-defined]
        found += part
    return found


def read_pair(folder: Path, stem: str) -> ImageSet:
    """`stem`-images-idx3-ubyte and `stem`-labels-idx1-ubyte, with or without .gz."""
    images = read_idx(idx_file(folder, f"{stem}-images-idx3-ubyte"), 3)
    labels = read_idx(idx_file(folder, f"{stem}-labels-idx1-ubyte"), 1)
    return ImageSet(images.unsqueeze(1), labels.long())


def idx_file(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise DataError(f"{folder / name}[.gz]: no such file")


def has_idx(folder: Path) -> bool:
    """Does the folder look like MNIST's? A single file is enough: what is missing is told by name then."""
    return any(folder.glob("t*-idx[13]-ubyte*"))
