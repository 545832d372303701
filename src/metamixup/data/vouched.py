"""Images whose labels a user vouches for: a list of training images, or a folder of more of them."""

from dataclasses import replace
from pathlib import Path

import torch

from metamixup.data.folder.files import files_fingerprint, readable
from metamixup.data.folder.packed import packed
from metamixup.data.folder.tree import scan_vouched
from metamixup.data.image_names import names_of
from metamixup.data.images import DataSet, ImageSet
from metamixup.data.relabel import read_names
from metamixup.errors import DataError


def with_vouched(found: DataSet, source: Path) -> DataSet:
    """The data set, with the training images marked that `source` names, or with those of its folder added."""
    if source.is_dir():
        return _added(found, source)
    return replace(found, vouched_for=read_names(source, found))


def _added(found: DataSet, folder: Path) -> DataSet:
    files = scan_vouched(folder, found.classes)
    images = packed(folder, [file.path for file in files], files_fingerprint(folder, files), found.shape, None)
    if images is None or not isinstance(found.train.images, torch.Tensor) or found.train.images.dtype != images.dtype:
        raise DataError(f"{folder}: a folder can only be added to images of bytes that the cache has room for")
    names = tuple(readable(f"{folder.name}/{file.path.relative_to(folder).as_posix()}") for file in files)
    labels = torch.tensor([file.label for file in files], dtype=torch.int64)
    train = _joined(found, ImageSet(images, labels, names))
    return replace(found, train=train, vouched_for=torch.arange(len(found.train), len(train)))


def _joined(found: DataSet, added: ImageSet) -> ImageSet:
    train = found.train
    images, labels = torch.cat([train.images, added.images]), torch.cat([train.labels, added.labels])
    others = None if train.others is None else torch.cat([train.others, added.labels])
    return ImageSet(images, labels, (*names_of(found), *(added.names or ())), others)
