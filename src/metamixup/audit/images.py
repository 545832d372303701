"""What is audited: labelled images with their names, from a folder, a data set or a run."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from metamixup import data
from metamixup.data import DataSet
from metamixup.data.folder.decode import decode, without_pillow_warnings
from metamixup.data.folder.files import ImageFile, readable
from metamixup.data.folder.folder import image_shape
from metamixup.data.folder.tree import scan
from metamixup.data.image_names import names_of
from metamixup.data.images import may_flip, statistics
from metamixup.errors import DataError


@dataclass(frozen=True)
class Labelled:
    """names: a file, relative to the folder, or a position in the training set; images: (N, C, H, W); labels: (N,);
    unreadable: (file, class, problem)."""

    name: str
    names: list[str]
    images: Tensor
    labels: Tensor
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    flips: bool
    unreadable: list[tuple[str, str, str]] = field(default_factory=list)


def labelled_images(source: str, data_dir: str | None = None, image_size: int | None = None) -> Labelled:
    """All labelled images of a folder, or the training images of a data set by name."""
    if Path(source).is_dir():
        return from_folder(Path(source), image_size)
    return from_set(data.load(source, data_dir, image_size))


def from_set(found: DataSet) -> Labelled:
    images, labels = found.train.images, found.train.labels
    return Labelled(
        found.name, list(names_of(found)), images, labels, found.classes, found.mean, found.std, found.flips
    )


def from_folder(root: Path, image_size: int | None = None) -> Labelled:
    """Files that cannot be read are named and left out."""
    tree = scan(root)
    files = [*tree.train, *(tree.test or [])]
    channels, size, _ = image_shape(files, image_size)
    kept: list[ImageFile] = []
    pixels, unreadable = [], []
    with without_pillow_warnings():
        for file in files:
            try:
                pixels.append(decode(file.path, size, channels))
                kept.append(file)
            except DataError as problem:
                why = str(problem).removeprefix(f"{file.path}: ")
                unreadable.append((_name(file, root), tree.classes[file.label], why))
    if not kept:
        raise DataError(f"{root}: none of its {len(files)} images can be read")
    images = torch.from_numpy(np.stack(pixels))
    labels = torch.tensor([file.label for file in kept])
    names = [_name(file, root) for file in kept]
    flips = may_flip(tree.classes, channels)
    return Labelled(str(root), names, images, labels, tree.classes, *statistics(images), flips, unreadable)


def _name(file: ImageFile, root: Path) -> str:
    return readable(file.path.relative_to(root).as_posix())
