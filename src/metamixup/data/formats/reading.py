"""Reading files that nobody vouches for: hostile headers and gzip bombs are refused before anything is allocated."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from metamixup.errors import DataError

SLACK = 56 * 2**20


class Readable(Protocol):
    """A binary file, or something that unpacks one while it is read."""

    def read(self, size: int, /) -> bytes | None: ...

    def readinto(self, buffer: memoryview, /) -> int | None: ...


@contextmanager
def unpacked(path: Path, what: str) -> Iterator[Readable]:
    """Open a file, plain or gzipped; what goes wrong while it is read names the file."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            yield gzip.GzipFile(fileobj=raw) if packed else raw
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"{path}: cannot be read as {what} ({problem}); fetch it again") from problem


def allowed_size(path: Path) -> int:
    """A file may need twice its own size and a little more."""
    return 2 * path.stat().st_size + SLACK


def check_declared(path: Path, declared: int, advice: str = "if it is genuine, unpack it first") -> None:
    allowed = allowed_size(path)
    if declared > allowed:
        raise DataError(
            f"{path}: promises {declared / 2**20:,.0f} MB of content, more than a file of its size may hold "
            f"({allowed / 2**20:,.0f} MB); {advice}"
        )


def read_exactly(path: Path, stream: Readable, size: int) -> np.ndarray:
    """`size` bytes as uint8, or an error that names the file."""
    check_declared(path, size)
    values = np.empty(size, np.uint8)
    found = 0
    while found < size and (part := stream.readinto(values[found:].data)):
        found += part
    if found < size:
        raise DataError(f"{path}: truncated: {size} bytes were promised, {found} are there; fetch it again")
    return values
