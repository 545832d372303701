"""What is in a data set and what is wrong with it: counts, damaged files, images shared by train and test."""

import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from metamixup.data.folder.files import ImageFile
from metamixup.data.folder.folder import image_shape, parts_of
from metamixup.data.folder.tree import left_out, of_no_class, scan
from metamixup.data.folder.workers import Decoded, decode_all
from metamixup.data.images import DataSet, ImageSet
from metamixup.errors import UserError


@dataclass(frozen=True)
class Findings:
    """histogram: images of each class in the training and the test set; damaged: files by what is wrong with them;
    duplicates: (training, test) image names; left_out: files of kinds that are not read; too_large: sound files that
    would take too much memory, by what to do about them; of_no_class: images that belong to no class
    or part."""

    name: str
    shape: tuple[int, int, int]
    histogram: list[tuple[str, int, int]]
    unlabelled: int
    damaged: dict[Path, str]
    duplicates: list[tuple[str, str]]
    left_out: list[str] = field(default_factory=list)
    too_large: dict[Path, str] = field(default_factory=dict)
    of_no_class: list[str] = field(default_factory=list)


def check_set(data: DataSet) -> Findings:
    rest = 0 if data.unlabelled is None else len(data.unlabelled)
    histogram = _histogram(data.classes, data.train.labels.tolist(), data.test.labels.tolist())
    return Findings(data.name, data.shape, histogram, rest, {}, copies(data))


def check_folder(root: Path, image_size: int | None = None) -> Findings:
    """Decodes every file, so that all damaged ones are named at once."""
    tree = scan(root)
    train, test = parts_of(tree)
    files = [*train, *test, *tree.unlabelled]
    shape = image_shape(files, image_size)
    decoded = decode_all([file.path for file in files], shape)
    first, second = decoded[: len(train)], decoded[len(train) : len(train) + len(test)]
    histogram = _histogram(tree.classes, _sound(train, first), _sound(test, second))
    twice = shared(*([(str(d.path.relative_to(root)), d.digest) for d in part if d.digest] for part in (first, second)))
    damaged, large = (
        {d.path: d.problem for d in decoded if d.problem and d.too_large == too_large} for too_large in (False, True)
    )
    return Findings(
        str(root), shape, histogram, len(tree.unlabelled), damaged, twice, left_out(root), large, of_no_class(tree)
    )


def set_aside(root: Path, files: Iterable[Path], to: Path) -> None:
    """Move files out of a data set to the same places below another folder; nothing is replaced."""
    root, to = root.absolute(), to.absolute()
    if to.is_relative_to(root):
        raise UserError(f"{to} lies in the data set; choose a folder outside of {root}")
    moves = [(file, to / file.absolute().relative_to(root)) for file in files]
    for _, target in moves:
        if os.path.lexists(target):
            raise UserError(f"{target} is there already; choose another folder")
    try:
        for file, target in moves:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)
    except OSError as problem:
        raise UserError(f"{file} cannot be moved to {target} ({problem})") from problem


def _sound(files: list[ImageFile], decoded: list[Decoded]) -> list[int]:
    """The labels of the files that could be read."""
    return [file.label for file, found in zip(files, decoded, strict=True) if not found.problem]


def _digest(image: Tensor) -> bytes:
    return hashlib.blake2b(image.contiguous().numpy().data, digest_size=16).digest()


def _histogram(classes: tuple[str, ...], train: list[int], test: list[int]) -> list[tuple[str, int, int]]:
    return [(name, train.count(label), test.count(label)) for label, name in enumerate(classes)]


def copies(found: DataSet) -> list[tuple[str, str]]:
    """(training, test) names of the test images whose very pixels a training image has, too."""
    return shared(named_digests(found.train, "training"), named_digests(found.test, "test"))


def named_digests(part: ImageSet, kind: str) -> list[tuple[str, bytes]]:
    """The name of each image, of its file or as `training image 17`, and a digest of its pixels."""
    names = part.names or [f"{kind} image {k}" for k in range(len(part))]
    return list(zip(names, map(_digest, part.images), strict=True))


def shared(first: list[tuple[str, bytes]], second: list[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """(first, second) names, a pair for each of the second whose digest one of the first has."""
    known = {digest: name for name, digest in first}
    return [(known[digest], name) for name, digest in second if digest in known]
