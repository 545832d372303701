"""Files that are whole or not there, and locks that end with their holder. Every package reads and writes through
this module.

No symbolic link is followed when writing: a run folder that somebody handed over may hold links to files of the user's.
"""

import errno
import fcntl
import io
import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from metamixup.errors import UserError

POLL = 0.1  # seconds between two looks at a lock
BRIEFLY = 0.3  # `holder` takes a lock for an instant: whoever wants it tries for so long before giving up
MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
LARGEST_RECORD = 2**30  # bytes; a thousand epochs with a hundred classes take a twentieth of it
TEMPORARY = ".{name}.{process}.tmp"


class InUse(UserError):
    """Another process holds the lock."""


def read_file(path: Path, most: int | None = None) -> bytes:
    """The content of an ordinary file of up to `most` bytes, or as large as the memory. A folder that somebody handed
    over may hold a pipe or a device in its place, whose reading never ends: those are an OSError, as is all that
    cannot be read."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        too_large = OSError(errno.EFBIG, f"it has {about.st_size} bytes, too many to be one of metamixup's", str(path))
        if about.st_size > (most or MEMORY):
            raise too_large
        try:
            return file.read()
        except MemoryError as error:
            raise too_large from error


def read_record(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """The text of a record, a table or a settings file."""
    content = io.BytesIO(read_file(path, LARGEST_RECORD))
    return io.TextIOWrapper(content, encoding=encoding, errors=errors).read()


@contextmanager
def _named_in_errors(path: Path) -> Iterator[None]:
    """A full disk does not say in which file it ended; that of a temporary one would say little."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def write_atomically(path: Path, content: bytes) -> None:
    """All of it or nothing, also when the power goes: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(TEMPORARY.format(name=path.name, process=os.getpid()))
    with _named_in_errors(path):
        temporary.unlink(missing_ok=True)
        try:
            with _opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def remove_leftovers(folder: Path) -> None:
    """Temporary files of writers that were killed; call it while holding the folder's lock."""
    for leftover in folder.glob(TEMPORARY.format(name="*", process="*")):
        with suppress(OSError):
            leftover.unlink()


def write_output(path: Path, content: str | bytes) -> None:
    """`write_atomically` where a user asked for a file: a place that cannot be written is told as their mistake."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.encode() if isinstance(content, str) else content)


def check_output(path: Path) -> None:
    """Fails where `write_output` would: to be asked before work that takes long. Leaves nothing but the folder."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        probe = path.with_name(TEMPORARY.format(name=path.name, process=os.getpid()))
        write_atomically(probe, b"")
        probe.unlink()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}); choose another place") from error


def as_json(value: Any, indent: int | None = None) -> bytes:
    """JSON that every parser reads: NaN and infinity, which JSON lacks, become null; bytes that are no Unicode in a
    file's name become escapes."""
    text = json.dumps(finite(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def finite(value: Any) -> Any:
    """The same nested value with null in place of every number that is not finite."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def append(path: Path, content: bytes) -> None:
    """Add to the end of a file, and return when it is on disk."""
    with _named_in_errors(path), open_log(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def open_log(path: Path) -> BinaryIO:
    """A file to be added to."""
    return _opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def make_folder(path: Path) -> Path:
    """A folder inside of one that may have been handed over: a link in its place is refused."""
    if path.is_symlink():
        raise UserError(f"{path} is a link to another place; remove it, so that nothing is written there")
    path.mkdir(parents=True, exist_ok=True)
    return path


def _opened(path: Path, flags: int) -> BinaryIO:
    return os.fdopen(os.open(path, flags | os.O_NOFOLLOW, 0o644), "ab" if flags & os.O_APPEND else "wb")


_held: set[int] = set()


def _close_inherited() -> None:
    """A forked child shares its parent's locks, and would hold them after the parent's death."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_inherited)


@contextmanager
def locked(path: Path, waiting: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock file at `path`. If another process does: InUse, or with `waiting` called again and again with the
    name of that process until the lock is free; it may raise to give up.

    The kernel drops the lock with the process, so a killed one leaves none behind. The file names its holder.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    _held.add(descriptor)
    try:
        _take(descriptor, path, waiting)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        if descriptor in _held:  # not in a forked child, where the number may belong to another file by now
            _held.remove(descriptor)
            os.close(descriptor)


def _take(descriptor: int, path: Path, waiting: Callable[[str], None] | None) -> None:
    started = time.monotonic()
    while not _taken(descriptor):
        name = _named(descriptor)
        if waiting is not None:
            waiting(name)
        elif time.monotonic() - started > BRIEFLY:
            raise InUse(f"{path.parent} is in use by {name}")
        time.sleep(POLL)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _named(descriptor: int) -> str:
    number = os.pread(descriptor, 32, 0).strip()
    return f"process {int(number)}" if number.isdigit() else "another process"


def holder(path: Path) -> str | None:
    """Who holds the lock file at `path`, in words; None if nobody does. The lock is asked, not the number in it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return None if _taken(descriptor) else _named(descriptor)
    finally:
        os.close(descriptor)
