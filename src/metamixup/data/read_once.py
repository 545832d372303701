"""A file that a glance had to read whole is handed over to the run, which would read it again."""

from pathlib import Path

from metamixup.data.images import DataSet

Key = tuple[str, int | None, int, int]
_read: dict[Key, DataSet] = {}  # one at most, until it is asked for


def key_of(name: str, image_size: int | None) -> Key:
    """Tells a file from what it was before it was written anew."""
    path = Path(name).expanduser()
    state = path.stat() if path.exists() else None
    return name, image_size, state.st_mtime_ns if state else 0, state.st_size if state else 0


def keep(key: Key, found: DataSet) -> None:
    _read.clear()
    _read[key] = found


def handed_over(key: Key) -> DataSet | None:
    """What was kept, which is kept no longer: it may be large."""
    return _read.pop(key, None)
