"""MNIST's idx format, plain or gzipped: a magic number, big-endian sizes, then bytes."""

import math
import struct
from pathlib import Path

import torch
from torch import Tensor

from metamixup.data.formats.reading import Readable, read_exactly, unpacked
from metamixup.data.images import DataSet, ImageSet
from metamixup.errors import DataError

UNSIGNED_BYTE = 8
CLOTHES = (
    *("T-shirt/top", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)


def read_idx(path: Path, ndim: int) -> Tensor:
    """The uint8 array of an idx file with `ndim` dimensions."""
    with unpacked(path, "an idx file") as stream:
        return _parse(path, stream, ndim)


def _parse(path: Path, stream: Readable, ndim: int) -> Tensor:
    header = stream.read(4 + 4 * ndim) or b""
    if header[:4] != bytes([0, 0, UNSIGNED_BYTE, ndim]):
        raise DataError(
            f"{path}: not an idx file of bytes with {ndim} dimension(s); it starts with '{header[:4].hex()}'"
        )
    if len(header) < 4 + 4 * ndim:
        raise DataError(f"{path}: truncated within its header; fetch it again")
    shape = struct.unpack(f">{ndim}I", header[4:])
    values = read_exactly(path, stream, math.prod(shape))
    if stream.read(1):
        raise DataError(f"{path}: holds more than the {len(values)} bytes that its header promises")
    return torch.from_numpy(values).reshape(shape)


def load_mnist(folder: Path) -> DataSet:
    train, test = read_pair(folder, "train"), read_pair(folder, "t10k")
    return DataSet("mnist", train, test, tuple("0123456789"), mean=(0.1307,), std=(0.3081,), flips=False)


def load_fashion(folder: Path) -> DataSet:
    train, test = read_pair(folder, "train"), read_pair(folder, "t10k")
    return DataSet("fashion", train, test, CLOTHES, mean=(0.2860,), std=(0.3530,))


def read_pair(folder: Path, stem: str) -> ImageSet:
    """`stem`-images-idx3-ubyte and `stem`-labels-idx1-ubyte, with or without .gz."""
    images = read_idx(_file(folder, f"{stem}-images-idx3-ubyte"), 3)
    labels = read_idx(_file(folder, f"{stem}-labels-idx1-ubyte"), 1)
    return ImageSet(images.unsqueeze(1), labels.long())


def _file(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise DataError(f"{folder / name}[.gz]: no such file")


def has_idx(folder: Path) -> bool:
    """Does the folder look like MNIST's? A single file is enough: what is missing is told by name then."""
    return any(folder.glob("t*-idx[13]-ubyte*"))
