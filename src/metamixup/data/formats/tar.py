"""The regular files of a tar archive, plain or gzipped, read one at a time and never written to disk.

So an entry that climbs out of its folder, a link or a device has nowhere to go. Not here: long names and other
extensions, whose entries are passed over.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from metamixup.data.formats.reading import Readable, check_declared, read_exactly, unpacked
from metamixup.errors import DataError

BLOCK = 512
CHUNK = 2**20


def read_members(path: Path, wanted: frozenset[str]) -> Iterator[tuple[str, np.ndarray]]:
    """(base name, bytes) of every regular file whose base name is wanted."""
    with unpacked(path, "an archive") as stream:
        yield from _members(path, stream, wanted)


def _members(path: Path, stream: Readable, wanted: frozenset[str]) -> Iterator[tuple[str, np.ndarray]]:
    total = 0
    while len(header := stream.read(BLOCK) or b"") == BLOCK and any(header):
        name, size = _header(path, header)
        total += size
        check_declared(path, total)
        regular = header[156:157] in (b"0", b"\0")
        if regular and name in wanted:
            yield name, read_exactly(path, stream, size)
            _skip(stream, -size % BLOCK)
        else:
            _skip(stream, size + -size % BLOCK)


def _header(path: Path, header: bytes) -> tuple[str, int]:
    try:
        checksum = int(header[148:156].rstrip(b"\0 "), 8)
        size = int(header[124:136].rstrip(b"\0 ") or b"0", 8)
    except ValueError as problem:
        raise DataError(f"{path}: not a tar archive") from problem
    if checksum != sum(header[:148]) + 8 * 32 + sum(header[156:]) or size < 0:
        raise DataError(f"{path}: not a tar archive, or a damaged one")
    name = header[:100].split(b"\0")[0].decode("utf-8", "replace")
    return name.rsplit("/")[-1], size


def _skip(stream: Readable, size: int) -> None:
    while size > 0 and (part := stream.read(min(size, CHUNK))):
        size -= len(part)
