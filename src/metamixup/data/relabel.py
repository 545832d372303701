"""Labels from a file in place of a data set's own: people's corrections, or another annotation of the same images.

A .npz archive holds a label for every training image, in their order: `labels.npz`, or `cifar10n.npz:random1` where it
holds several arrays. A .csv table holds as many rows as need be, with the columns `file` and `label`: a file by its
path in the data's folder, or `train/17` for the 17th training image where there are no files; a label by the name of
its class or its number. A plain list of files, one a line, names images without labels.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from metamixup.data.arrays import label_tensor
from metamixup.data.formats.npz import array_names, read_npz
from metamixup.data.images import DataSet
from metamixup.errors import DataError

USUAL = ("labels", "y", "y_train", "targets")
FILE, LABEL = ("file", "name", "image", "index"), ("label", "class")
UNCHANGED = -1


def read_labels(path: str, found: DataSet) -> Tensor:
    """(N,) the label of each training image, or UNCHANGED where the file does not name it."""
    if Path(path.partition(".npz:")[0]).suffix == ".csv":
        return _from_table(Path(path), found)
    return _from_archive(path, found)


def read_names(path: Path, found: DataSet) -> Tensor:
    """(M,) sorted positions of the training images that a list or a table names."""
    if path.suffix == ".csv":
        rows = [row[0] for row in _rows(path, needs_label=False)]
    else:
        rows = [line.strip() for line in _text(path).splitlines() if line.strip()]
    if not rows:
        raise DataError(f"{path}: names no image")
    positions = _positions(found)
    named = {_position(path, line, name, positions) for line, name in enumerate(rows, 1)}
    return torch.tensor(sorted(named))


def _from_archive(path: str, found: DataSet) -> Tensor:
    file, _, key = path.partition(".npz:")
    archive = Path(f"{file}.npz" if key else path)
    if not archive.is_file():
        raise DataError(f"{archive}: no such file")
    names = array_names(archive)
    chosen = key or next((name for name in USUAL if name in names), names[0] if len(names) == 1 else "")
    if chosen not in names:
        raise DataError(f"{archive}: holds {', '.join(names)}; say which, as {archive.name}:{names[0]}")
    values = read_npz(archive, {chosen})[chosen]
    if values.size != len(found.train):
        raise DataError(f"{archive}: {values.size} labels, but {found.name} has {len(found.train)} training images")
    return label_tensor(values, found.classes, path)


def _from_table(path: Path, found: DataSet) -> Tensor:
    labels, positions = torch.full((len(found.train),), UNCHANGED), _positions(found)
    numbers = {name: number for number, name in enumerate(found.classes)}
    for line, (name, label) in enumerate(_rows(path), 2):
        if label not in numbers and not (label.isdecimal() and int(label) < len(numbers)):
            raise DataError(f"{path}, line {line}: {label!r} is none of the classes")
        labels[_position(path, line, name, positions)] = numbers[label] if label in numbers else int(label)
    return labels


def _rows(path: Path, needs_label: bool = True) -> list[tuple[str, str]]:
    lines = csv.reader(_text(path).splitlines())
    head = [name.strip().lower() for name in next(lines, [])]
    file, label = (next((head.index(name) for name in names if name in head), None) for names in (FILE, LABEL))
    if file is None or (needs_label and label is None):
        raise DataError(f"{path}: needs the columns file{' and label' * needs_label} in its first line, not {head}")
    rows = [line for line in lines if line]
    for number, row in enumerate(rows, 2):
        if len(row) <= max(file, label or 0):
            raise DataError(f"{path}, line {number}: has {len(row)} columns, the first line has {len(head)}")
    return [(row[file].strip(), "" if label is None else row[label].strip()) for row in rows]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"{path}: cannot be read as text ({problem})") from problem


def _positions(found: DataSet) -> dict[str, int]:
    return {name: position for position, name in enumerate(names_of(found))}


def names_of(found: DataSet) -> Sequence[str]:
    """Of the training images: their files, or `train/17`."""
    return found.train.names or [f"train/{k}" for k in range(len(found.train))]


def _position(path: Path, line: int, name: str, positions: dict[str, int]) -> int:
    for spelled in (name, f"train/{name}", name.removeprefix("train/")):
        if spelled in positions:
            return positions[spelled]
    raise DataError(f"{path}, line {line}: {name!r} is no training image")
