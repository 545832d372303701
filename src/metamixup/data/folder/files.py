"""The files of a folder: which are images that can be read, in which order, and under which name they are shown."""

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from metamixup.data.folder.decode import SUFFIXES
from metamixup.errors import DataError

MACOS = "__MACOSX"  # what macOS adds to its archives: no photos, though their names end like photos'
JUNK = frozenset({"thumbs.db", "ehthumbs.db", "desktop.ini"})

Wanted = Callable[[os.DirEntry[str]], bool]


@dataclass(frozen=True)
class ImageFile:
    """label is −1 where there is none; size in bytes and mtime tell whether the file has changed."""

    path: Path
    label: int
    size: int
    mtime: int


def files_of(folder: Path, label: int) -> list[ImageFile]:
    """All images below the folder, sorted by name. A link that leads nowhere counts as one, whatever its name: an
    image, or a folder of them, is missing, which decoding tells."""
    return _files(folder, label, lambda entry: _is_read(entry.name) or _is_lost(entry))


def folders_of(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not _is_hidden(entry.name))


def image_files(folder: Path) -> list[Path]:
    """All images below a folder, whatever their class."""
    try:
        return [file.path for file in files_of(folder, -1)]
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read ({problem})") from problem


def unread(folder: Path) -> list[Path]:
    """All files below the folder that are not read, but for those that systems add by themselves."""
    return [file.path for file in _files(folder, -1, _is_unread)]


def kinds_of(names: list[str]) -> str:
    """`2 .heic, 1 .tif, 1 without a suffix`, the most frequent first."""
    kinds = Counter(_suffix(name) or "without a suffix" for name in names)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())


def readable(name: str) -> str:
    """A file's name as text that can be stored and shown: no control characters, no stray bytes."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def comparable(name: str) -> str:
    """A name or a path as it is compared: systems write é as one character or as two, and people leave blanks."""
    return "/".join(part.strip() for part in unicodedata.normalize("NFC", name).split("/"))


def files_fingerprint(root: Path, files: list[ImageFile]) -> str:
    """Changes with any file's name, size or time of modification."""
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(os.fsencode(file.path.relative_to(root)) + f"\0{file.label}/{file.size}/{file.mtime}\n".encode())
    return digest.hexdigest()


def _is_read(name: str) -> bool:
    return _suffix(name) in SUFFIXES


def _is_unread(entry: os.DirEntry[str]) -> bool:
    return not _is_read(entry.name) and entry.name.lower() not in JUNK and not _is_lost(entry)


def _is_lost(entry: os.DirEntry[str]) -> bool:
    """Is it a link that leads nowhere?"""
    return entry.is_symlink() and not os.path.exists(entry.path)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == MACOS


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _files(folder: Path, label: int, wanted: Wanted) -> list[ImageFile]:
    """A link back to a parent, which would bring other classes in, is not followed."""
    above = {_identity(parent) for parent in folder.absolute().parents}
    return sorted(_walk(folder, label, wanted, above), key=lambda file: file.path)


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _walk(folder: Path, label: int, wanted: Wanted, seen: set[tuple[int, int]]) -> Iterator[ImageFile]:
    """Links are followed, but no folder is entered twice: a loop of links would have no end. Folders may lie deeper in
    each other than Python calls may."""
    waiting = [folder]
    while waiting:
        entered = waiting.pop()
        if _identity(entered) in seen:
            continue
        seen.add(_identity(entered))
        with os.scandir(entered) as entries:
            for entry in entries:
                if _is_hidden(entry.name):
                    continue
                if entry.is_dir():
                    waiting.append(Path(entry.path))
                elif (entry.is_file() or entry.is_symlink()) and wanted(entry):
                    found = entry.stat(follow_symlinks=entry.is_file())
                    yield ImageFile(Path(entry.path), label, found.st_size, found.st_mtime_ns)
