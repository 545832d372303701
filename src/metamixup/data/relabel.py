"""Labels from a file in place of a data set's own: people's corrections, or another annotation of the same images.

A .npz archive holds a label for every training image, in their order: `labels.npz`, or `cifar10n.npz:random1` where it
holds several arrays. A .csv table holds as many rows as need be, with the columns `file` and `label`: a file by its
path in the data's folder, or `train/17` for the 17th training image where there are no files; a label by the name of
its class or its number. It may name test images too, whose labels are corrected as well. A plain list of files, one a
line, names images without labels; test images in it are passed over.

As a meta set such a table must be a fair sample. Where it has the column `chosen`, which the page of an audit writes,
only rows chosen at `random` count: images that were looked at because they are suspicious have other classes than the
rest, and are those of which the network is most sure.
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
from metamixup.storage import read_record

USUAL = ("labels", "y", "y_train", "targets")
FILE, LABEL = ("file", "name", "image", "index"), ("label", "class")
CHOSEN, RANDOM = "chosen", "random"
UNCHANGED = -1


def read_labels(path: str, found: DataSet) -> Tensor:
    """(N,) the label of each training image, or UNCHANGED where the file does not name it."""
    if Path(path.partition(".npz:")[0]).suffix == ".csv":
        return _from_table(Path(path), found)
    return _from_archive(path, found)


def read_names(path: Path, found: DataSet) -> Tensor:
    """(M,) sorted positions of the training images that a list or a table names, as a fair sample of all."""
    if path.suffix == ".csv":
        rows = _fair_names(path)
    else:
        rows = [line.strip() for line in _text(path).splitlines() if line.strip()]
    if not rows:
        raise DataError(f"{path}: names no image")
    known = _places(found)
    places = [_place(path, line, name, known) for line, name in enumerate(rows, 1)]
    return torch.tensor(sorted({position for part, position in places if part == "train"}), dtype=torch.int64)


def label_archive(path: str) -> tuple[Path, str]:
    """`people.npz:random1` → the file, and the name of the array in it, which may be left out."""
    file, _, name = path.partition(".npz:")
    return Path(f"{file}.npz" if name else path), name


def _from_archive(path: str, found: DataSet) -> Tensor:
    archive, key = label_archive(path)
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


def corrected_test_labels(path: str, found: DataSet) -> Tensor:
    """(N,) the labels of the test images, as a table corrects them."""
    labels = found.test.labels.clone()
    for part, position, label in _table(Path(path), found) if path.endswith(".csv") else ():
        if part == "test":
            labels[position] = label
    return labels


def _from_table(path: Path, found: DataSet) -> Tensor:
    labels = torch.full((len(found.train),), UNCHANGED)
    for part, position, label in _table(path, found):
        if part == "train":
            labels[position] = label
    return labels


def _table(path: Path, found: DataSet) -> list[tuple[str, int, int]]:
    """(part, position in it, label) of each row."""
    numbers = {name: number for number, name in enumerate(found.classes)}
    rows, known = [], _places(found)
    for line, (name, label) in enumerate(_rows(path), 2):
        if label not in numbers and not (label.isdecimal() and int(label) < len(numbers)):
            raise DataError(f"{path}, line {line}: {label!r} is none of the classes")
        rows.append((*_place(path, line, name, known), numbers[label] if label in numbers else int(label)))
    return rows


def _fair_names(path: Path) -> list[str]:
    names = [name for name, _ in _rows(path, needs_label=False)]
    head, lines = _lines(path)
    if CHOSEN not in head:
        return names
    fair = [name for name, line in zip(names, lines, strict=True) if line[head.index(CHOSEN) :][:1] == [RANDOM]]
    if names and not fair:
        raise DataError(
            f"{path}: none of its {len(names)} images was chosen at random, so they are no fair sample for --meta; "
            "decide on some of the page's 'fair sample' too, or leave out --meta"
        )
    return fair


def _lines(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and all rows."""
    lines = csv.reader(_text(path).splitlines())
    head = [name.strip().lower() for name in next(lines, [])]
    return head, [line for line in lines if line]


def _rows(path: Path, needs_label: bool = True) -> list[tuple[str, str]]:
    head, rows = _lines(path)
    file, label = (next((head.index(name) for name in names if name in head), None) for names in (FILE, LABEL))
    if file is None or (needs_label and label is None):
        raise DataError(f"{path}: needs the columns file{' and label' * needs_label} in its first line, not {head}")
    for number, row in enumerate(rows, 2):
        if len(row) <= max(file, label or 0):
            raise DataError(f"{path}, line {number}: has {len(row)} columns, the first line has {len(head)}")
    return [(_plain(row[file]), "" if label is None else _plain(row[label])) for row in rows]


def _plain(text: str) -> str:
    """Without the apostrophe that keeps a spreadsheet from taking a name for a formula."""
    text = text.strip()
    return text[1:] if text.startswith("'") and text[1:2] in tuple("=+-@") else text


def _text(path: Path) -> str:
    try:
        return read_record(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"{path}: cannot be read as text ({problem})") from problem


def names_of(found: DataSet) -> Sequence[str]:
    """Of the training images: their files, or `train/17`."""
    return found.train.names or [f"train/{k}" for k in range(len(found.train))]


def _place(path: Path, line: int, name: str, known: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """The part of the data that an image belongs to, and its position there."""
    for spelled in (name, f"train/{name}", name.removeprefix("train/")):
        if spelled in known:
            return known[spelled]
    raise DataError(f"{path}, line {line}: {name!r} is no training or test image")


def _places(found: DataSet) -> dict[str, tuple[str, int]]:
    test = {name: ("test", k) for k, name in enumerate(found.test.names or ())}
    return test | {name: ("train", k) for k, name in enumerate(names_of(found))}
