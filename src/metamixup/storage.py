"""Files that are whole or not there, and locks that end with their holder. Every package writes through this module."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metamixup.errors import UserError


class InUse(UserError):
    """Another process holds the lock."""


def write_atomically(path: Path, content: bytes) -> None:
    """All of it or nothing, also when the power goes: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_output(path: Path, content: str | bytes) -> None:
    """`write_atomically` where a user asked for a file: a place that cannot be written is told as their mistake."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}); choose another place") from error


def append(path: Path, text: str) -> None:
    """Add to the end of a file, and return when it is on disk."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold the lock file at `path`; InUse if another process does, unless `wait`.

    The kernel drops the lock with the process, so a killed one leaves none behind. The file names its holder.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "another process"
            raise InUse(f"{path.parent} is in use by process {holder}") from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)
