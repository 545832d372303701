"""Numeric arrays from MATLAB's level-5 .mat files, with every size checked before it is believed.

Not here: cells, structs, objects, sparse and complex arrays, and version 7.3, which is HDF5.
"""

import io
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from metamixup.data.formats.reading import Readable, check_declared, read_exactly
from metamixup.errors import DataError

HEADER = 128
MATRIX, COMPRESSED = 14, 15
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
NUMERIC_CLASSES = range(6, 16)
COMPLEX = 0x800
LONGEST_HEADER = 1024


def read_mat(path: Path, wanted: frozenset[str]) -> dict[str, np.ndarray]:
    """The wanted arrays that the file holds, in MATLAB's (Fortran) order."""
    try:
        with path.open("rb") as stream:
            return dict(_arrays(path, stream, wanted))
    except (OSError, EOFError, zlib.error, struct.error) as problem:
        raise DataError(f"{path}: cannot be read as a .mat file ({problem}); fetch it again") from problem


def _arrays(path: Path, stream: io.BufferedReader, wanted: frozenset[str]) -> Iterator[tuple[str, np.ndarray]]:
    header = stream.read(HEADER)
    if header.startswith(b"MATLAB 7.3"):
        raise DataError(f"{path}: version 7.3 of the format is not read; save it with -v7")
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if order is None:
        raise DataError(f"{path}: not a .mat file of MATLAB 5 or later")
    while tag := stream.read(8):
        kind, size = struct.unpack(f"{order}II", tag)
        end = stream.tell() + size
        if end > path.stat().st_size:
            raise DataError(f"{path}: truncated; fetch it again")
        found = _element(path, stream, kind, size, order, wanted)
        if found is not None:
            yield found
        stream.seek(end)


def _element(
    path: Path, stream: io.BufferedReader, kind: int, size: int, order: str, wanted: frozenset[str]
) -> tuple[str, np.ndarray] | None:
    if kind == MATRIX:
        return _matrix(path, stream, order, wanted)
    if kind != COMPRESSED:
        return None
    unpacked = Inflated(stream, size)
    inner, promised = struct.unpack(f"{order}II", read_exactly(path, unpacked, 8).tobytes())
    check_declared(path, promised)
    return _matrix(path, unpacked, order, wanted) if inner == MATRIX else None


def _matrix(path: Path, stream: Readable, order: str, wanted: frozenset[str]) -> tuple[str, np.ndarray] | None:
    """Array flags, dimensions, name, then the values."""
    flags = _values(path, stream, order, LONGEST_HEADER)
    shape = tuple(int(n) for n in _values(path, stream, order, LONGEST_HEADER))
    name = _values(path, stream, order, LONGEST_HEADER).tobytes().decode("latin-1")
    if name not in wanted:
        return None
    if not len(flags) or int(flags[0]) & 0xFF not in NUMERIC_CLASSES or int(flags[0]) & COMPLEX:
        raise DataError(f"{path}: {name} is not a plain numeric array")
    values = _values(path, stream, order)
    if min(shape, default=-1) < 0 or math.prod(shape) != len(values):
        raise DataError(f"{path}: {name} of shape {shape} holds {len(values)} values")
    return name, values.reshape(shape, order="F")


def _values(path: Path, stream: Readable, order: str, longest: int | None = None) -> np.ndarray:
    """One data element, in the long form (type, size, padded data) or the short one (all in eight bytes)."""
    tag = read_exactly(path, stream, 8).tobytes()
    kind, size = struct.unpack(f"{order}II", tag)
    short = kind >> 16
    if short:
        kind, size = kind & 0xFFFF, short
    dtype = np.dtype(order + TYPES.get(kind, "V0"))
    if kind not in TYPES or size % dtype.itemsize or size > (4 if short else longest or size):
        raise DataError(f"{path}: damaged, or not a plain numeric array")
    if short:
        return np.frombuffer(tag[4 : 4 + size], dtype)
    data = read_exactly(path, stream, size)
    stream.read(-size % 8)
    return data.view(dtype)


class Inflated(io.RawIOBase):
    """A zlib stream inside a file, unpacked as it is read and never further."""

    def __init__(self, stream: io.BufferedReader, size: int) -> None:
        self.stream, self.left, self.unpacker = stream, size, zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        found = b""
        # An empty buffer asks for nothing, but to zlib a limit of 0 means none at all.
        while len(buffer) and not found and not self.unpacker.eof:
            packed = self.unpacker.unconsumed_tail or self.stream.read(min(self.left, 2**16))
            if not packed:
                break
            self.left -= 0 if self.unpacker.unconsumed_tail else len(packed)
            found = self.unpacker.decompress(packed, len(buffer))
        buffer[: len(found)] = found
        return len(found)
