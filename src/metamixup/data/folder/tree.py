"""A folder of images by class: which files there are, and which class and part each belongs to.

Either train/CLASS/… with test/ or val/ beside it, or one level of CLASS/… folders. Beside either there may be
unlabelled/, and meta/CLASS/… with images whose labels the user vouches for.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metamixup.data.folder.decode import SUFFIXES
from metamixup.errors import DataError

TEST_NAMES = ("test", "val", "valid", "validation")
UNLABELLED_NAMES = ("unlabelled", "unlabeled")
META_NAMES = ("meta",)
NOT_READ = frozenset({".heic", ".heif", ".avif", ".tif", ".tiff", ".bmp", ".gif", ".dng", ".raw", ".cr2", ".nef"})


@dataclass(frozen=True)
class ImageFile:
    """label is −1 where there is none; size in bytes and mtime tell whether the file has changed."""

    path: Path
    label: int
    size: int
    mtime: int


@dataclass(frozen=True)
class Tree:
    """The files of each part, sorted by name; `test` is None where the folder has no test set of its own."""

    root: Path
    classes: tuple[str, ...]
    train: list[ImageFile]
    test: list[ImageFile] | None
    unlabelled: list[ImageFile]
    meta: list[ImageFile]


def scan(root: Path) -> Tree:
    try:
        return _scan(root)
    except OSError as problem:
        raise DataError(f"{root}: cannot be read as a folder ({problem})") from problem


def _scan(root: Path) -> Tree:
    train = root / "train"
    labelled = train if train.is_dir() else root
    aside = META_NAMES if train.is_dir() else META_NAMES + UNLABELLED_NAMES
    folders = [folder for folder in _folders(labelled) if folder.name not in aside]
    if len(folders) < 2:
        raise DataError(f"{labelled}: needs one folder of images for each class, at least two; found {len(folders)}")
    names = [folder.name for folder in folders]
    _check_names(labelled, [readable(name) for name in names])
    files = [_files(folder, label) for label, folder in enumerate(folders)]
    _refuse_empty([folder for folder, found in zip(folders, files, strict=True) if not found])
    test = _first(root, TEST_NAMES) if train.is_dir() else None
    rest, meta = _first(root, UNLABELLED_NAMES), _first(root, META_NAMES) or _first(labelled, META_NAMES)
    return Tree(
        root,
        tuple(readable(name) for name in names),
        [file for found in files for file in found],
        None if test is None else _labelled(test, names),
        [] if rest is None else _files(rest, -1),
        [] if meta is None else _labelled(meta, names),
    )


def _refuse_empty(folders: list[Path]) -> None:
    if not folders:
        return
    others = [f"{readable(folder.name)}/{names[0]}" for folder in folders if (names := left_out(folder))]
    hint = f"it has {others[0]}: save such photos as JPEG" if others else "add some, or remove the folder"
    more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
    raise DataError(f"{folders[0]}{more}: this class has no images ({', '.join(sorted(SUFFIXES))}); {hint}")


def _check_names(labelled: Path, names: list[str]) -> None:
    """Labels are told and read by these names, from which stray bytes are gone."""
    [(name, count)] = Counter(names).most_common(1)
    if count > 1:
        raise DataError(f"{labelled}: {count} class folders are called {name!r} as far as can be shown; rename them")


def _labelled(part: Path, names: list[str]) -> list[ImageFile]:
    found = []
    for folder in _folders(part):
        if folder.name not in names:
            raise DataError(f"{folder}: class {readable(folder.name)!r} is not among the training classes")
        found += _files(folder, names.index(folder.name))
    if not found:
        raise DataError(f"{part}: no images in folders by class")
    return found


def scan_vouched(folder: Path, classes: tuple[str, ...]) -> list[ImageFile]:
    """The images of a folder like meta/, by the classes that there are already."""
    try:
        return _labelled(folder, list(classes))
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read as a folder ({problem})") from problem


def readable(name: str) -> str:
    """A file's name as text that can be stored and shown: no control characters, no stray bytes."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def files_fingerprint(root: Path, files: list[ImageFile]) -> str:
    """Changes with any file's name, size or time of modification."""
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(os.fsencode(file.path.relative_to(root)) + f"\0{file.label}/{file.size}/{file.mtime}\n".encode())
    return digest.hexdigest()


def image_files(folder: Path) -> list[Path]:
    """All images below a folder, whatever their class."""
    try:
        return [file.path for file in _files(folder, -1)]
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read ({problem})") from problem


def left_out(root: Path) -> list[str]:
    """Photos below a folder, by their place in it, of kinds that are not read."""
    try:
        return [readable(file.path.relative_to(root).as_posix()) for file in _files(root, -1, NOT_READ)]
    except OSError:  # where it matters, `scan` tells
        return []


def _first(root: Path, names: tuple[str, ...]) -> Path | None:
    return next((root / name for name in names if (root / name).is_dir()), None)


def _folders(root: Path) -> list[Path]:
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _files(folder: Path, label: int, kinds: frozenset[str] = SUFFIXES) -> list[ImageFile]:
    """All images below the folder, sorted by name; a link back to a parent, which would bring other classes in, is not
    followed."""
    above = {_identity(parent) for parent in folder.absolute().parents}
    return sorted(_walk(folder, label, kinds, above), key=lambda file: file.path)


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _walk(folder: Path, label: int, kinds: frozenset[str], seen: set[tuple[int, int]]) -> Iterator[ImageFile]:
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
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    waiting.append(Path(entry.path))
                elif entry.is_file() and os.path.splitext(entry.name)[1].lower() in kinds:
                    found = entry.stat()
                    yield ImageFile(Path(entry.path), label, found.st_size, found.st_mtime_ns)
