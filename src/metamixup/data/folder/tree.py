"""A folder of images by class: which files there are, and which class and part each belongs to.

Either train/CLASS/… with test/ or val/ beside it, or one level of CLASS/… folders. Beside either there may be
unlabelled/, and meta/CLASS/… with images whose labels the user vouches for. layout.py tells them by their names.
"""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from metamixup.data.folder.decode import SUFFIXES
from metamixup.data.folder.files import ImageFile, comparable, files_of, folders_of, readable, unread
from metamixup.data.folder.layout import UNLABELLED, data_folders, layout_of
from metamixup.errors import DataError


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
    layout = layout_of(root)
    classes = tuple(readable(folder.name) for folder in layout.classes)
    _check_names(layout.labelled, classes)
    files = [files_of(folder, label) for label, folder in enumerate(layout.classes)]
    _refuse_empty([folder for folder, found in zip(layout.classes, files, strict=True) if not found])
    return Tree(
        root,
        classes,
        [file for found in files for file in found],
        None if layout.test is None else _labelled(layout.test, classes),
        [] if layout.unlabelled is None else files_of(layout.unlabelled, -1),
        [] if layout.meta is None else _labelled(layout.meta, classes),
    )


def _refuse_empty(folders: list[Path]) -> None:
    if not folders:
        return
    others = [_shown(found[0], folder.parent) for folder in folders if (found := unread(folder))]
    hint = f"it has {others[0]}: save such photos as JPEG" if others else "add some, or remove the folder"
    more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
    raise DataError(f"{folders[0]}{more}: this class has no images ({', '.join(sorted(SUFFIXES))}); {hint}")


def _check_names(labelled: Path, names: tuple[str, ...]) -> None:
    """Labels are told and read by these names, from which stray bytes are gone."""
    alike = defaultdict(list)
    for name in names:
        alike[comparable(name)].append(name)
    same = max(alike.values(), key=len)
    if len(same) > 1:
        raise DataError(
            f"{labelled}: {len(same)} class folders are called {same[0]!r} as far as can be shown; rename them"
        )


def _labelled(part: Path, classes: tuple[str, ...]) -> list[ImageFile]:
    labels = {comparable(name): label for label, name in enumerate(classes)}
    found = []
    for folder in folders_of(part):
        name = comparable(readable(folder.name))
        if name not in labels:
            raise DataError(f"{folder}: class {readable(folder.name)!r} is not among the training classes")
        found += files_of(folder, labels[name])
    if not found:
        raise DataError(
            f"{part}: no images in folders by class; put them there, or move the folder away: what has no labels can "
            f"go to {UNLABELLED[0]}/, or to `metamixup predict`"
        )
    return found


def scan_vouched(folder: Path, classes: tuple[str, ...]) -> list[ImageFile]:
    """The images of a folder like meta/, by the classes that there are already."""
    try:
        return _labelled(folder, classes)
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read as a folder ({problem})") from problem


def left_out(root: Path) -> list[str]:
    """Files of the parts and classes of a folder, by their place in it, of kinds that are not read."""
    try:
        found = [path for folder in data_folders(root) for path in unread(folder)]
    except OSError:  # where it matters, `scan` tells
        return []
    return [_shown(path, root) for path in found]


def of_no_class(tree: Tree) -> list[str]:
    """Images of the folder that belong to no class or part, by their place in it: loose ones, and those of folders
    beside train/, as val/ is where there is a test/."""
    root = tree.root
    try:
        within, apart = set(data_folders(root)), set(folders_of(root))
        everything = [file.path for file in files_of(root, -1)]
    except OSError:  # where it matters, `scan` tells
        return []
    runs = {folder.name for folder in apart - within}
    read = [file.path for part in (tree.train, tree.test or [], tree.unlabelled, tree.meta) for file in part]
    rest = set(everything) - set(read)
    if rest:  # parts may be made of links to images that lie in a folder of all
        targets = {os.path.realpath(path) for path in read}
        rest = {path for path in rest if os.path.realpath(path) not in targets}
    return [_shown(path, root) for path in sorted(rest) if path.relative_to(root).parts[0] not in runs]


def inner_folders(root: Path) -> list[Path]:
    """The folders within the classes that may have been meant as the classes: no class has an image of its own, and
    each has two or more folders with images."""
    try:
        inner = [_sharing_out(folder) for folder in layout_of(root).classes]
    except OSError:  # where it matters, `scan` tells
        return []
    return [folder for folders in inner for folder in folders] if min(map(len, inner)) > 1 else []


def _sharing_out(folder: Path) -> list[Path]:
    """The folders that all images of a class lie in; none where some lie beside them."""
    first = {folder / file.path.relative_to(folder).parts[0] for file in files_of(folder, -1)}
    return sorted(first) if all(place.is_dir() for place in first) else []


def _shown(path: Path, root: Path) -> str:
    return readable(path.relative_to(root).as_posix())
