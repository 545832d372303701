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

import re
from collections import Counter
from pathlib import Path

import torch
from torch import Tensor

from metamixup.data.arrays import label_tensor
from metamixup.data.folder.files import comparable
from metamixup.data.formats.npz import array_names, read_npz
from metamixup.data.image_names import ImageNames, Place
from metamixup.data.images import DataSet
from metamixup.data.label_table import CHOSEN, Row, is_table, read_table, read_text
from metamixup.errors import DataError, meant

USUAL = ("labels", "y", "y_train", "targets")
RANDOM = "random"
OF_AN_AUDIT = {"likely", "p(wrong)"}  # columns of its list, which begins with the most suspicious images
NUMBER = re.compile(r"-?\d{1,18}")
UNCHANGED = -1
NAMED = 5  # classes of one message: there may be thousands


def read_labels(path: str, found: DataSet) -> Tensor:
    """(N,) the label of each training image, or UNCHANGED where the file does not name it."""
    return _from_table(Path(path), found) if is_table(Path(path)) else _from_archive(path, found)


def read_names(path: Path, found: DataSet) -> Tensor:
    """(M,) sorted positions of the training images that a list or a table names, as a fair sample of all."""
    rows = _fair_rows(path) if is_table(path) else _listed(path)
    known = ImageNames(found)
    places = [(row, *_place(path, row, known)) for row in rows]
    trained = [(row, position) for row, part, position in places if part == "train"]
    if not trained:
        raise DataError(f"{path}: names test images alone, which no run may train on; name training images for --meta")
    _check_agree(path, trained, found)
    return torch.tensor(sorted({position for _, position in trained}), dtype=torch.int64)


def label_archive(path: str) -> tuple[Path, str]:
    """`people.npz:random1` → the file, and the name of the array in it, which may be left out."""
    file, _, name = path.partition(".npz:")
    return Path(f"{file}.npz" if name else path), name


def _from_archive(path: str, found: DataSet) -> Tensor:
    archive, key = label_archive(path)
    if archive.suffix.lower() != ".npz":
        raise DataError(f"{archive}: labels are read from a .csv table or an .npz archive; save them as one of these")
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
    for part, position, label in _table(Path(path), found) if is_table(Path(path)) else ():
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
    known, classes, seen = ImageNames(found), _Classes(found.classes), dict[Place, tuple[int, int]]()
    for row in read_table(path).rows:
        place, label = _place(path, row, known), classes.of(path, row)
        before, line = seen.setdefault(place, (label, row.line))
        if label != before:
            raise DataError(
                f"{path}, line {row.line}: {row.file!r} is {found.classes[label]!r} there, but "
                f"{found.classes[before]!r} in line {line}; keep one of the two lines"
            )
    return [(*place, label) for place, (label, _) in seen.items()]


def _place(path: Path, row: Row, known: ImageNames) -> Place:
    places = known.find(row.file)
    if len(places) > 1:
        raise DataError(
            f"{path}, line {row.line}: {row.file!r} may be any of {len(places)} images, whose names cannot be told "
            "apart as they are shown; rename these files"
        )
    if not places:
        raise DataError(f"{path}, line {row.line}: {row.file!r} is no training or test image")
    return places[0]


class _Classes:
    """Classes by their names, or by number: by the same one without its zeros where all names are numbers, else by
    position."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.by_name = {comparable(name): label for label, name in enumerate(names)}
        numbers = [str(int(name)) for name in self.by_name if NUMBER.fullmatch(name)]
        if len(numbers) < len(names):
            numbers = [str(label) for label in range(len(names))]
        counts = Counter(numbers)
        self.by_number = {number: label for label, number in enumerate(numbers) if counts[number] == 1}

    def of(self, path: Path, row: Row) -> int:
        name = comparable(row.label)
        label = self.by_name.get(name)
        if label is None and NUMBER.fullmatch(name):
            label = self.by_number.get(str(int(name)))
        if label is None:
            hint = meant(row.label, self.by_name, NAMED)
            raise DataError(f"{path}, line {row.line}: {row.label!r} is none of the classes; {hint}")
        return label


def _listed(path: Path) -> list[Row]:
    rows = [Row(line, text.strip()) for line, text in enumerate(read_text(path).splitlines(), 1) if text.strip()]
    if not rows:
        raise DataError(f"{path}: names no image")
    return rows


def _fair_rows(path: Path) -> list[Row]:
    table = read_table(path, needs_label=False)
    suspicious = OF_AN_AUDIT & set(table.columns)
    if CHOSEN not in table.columns and not suspicious:
        return table.rows
    fair = [row for row in table.rows if row.chosen == RANDOM]
    if not fair:
        why = "this is an audit's list of them" if suspicious else f"none of its {len(table.rows)} was chosen at random"
        raise DataError(
            f"{path}: images that were chosen by suspicion are no fair sample for --meta, and {why}; decide on some of "
            "the audit page's 'fair sample', or leave out --meta"
        )
    return fair


def _check_agree(path: Path, trained: list[tuple[Row, int]], found: DataSet) -> None:
    """Who vouches for an image means the label that stands beside it."""
    classes = _Classes(found.classes)
    for row, position in trained:
        given, own = classes.of(path, row) if row.label else None, int(found.train.labels[position])
        if given is not None and given != own:
            raise DataError(
                f"{path}, line {row.line}: {row.file!r} is {found.classes[given]!r} there, but "
                f"{found.classes[own]!r} in the data; to train with the table's labels give it as --labels too"
            )
