"""Images whose labels a user vouches for: a list of training images, or a folder of more of them."""

from dataclasses import replace
from pathlib import Path

import torch

from metamixup.data.check import named_digests, shared
from metamixup.data.folder.files import ImageFile, files_fingerprint, readable
from metamixup.data.folder.packed import packed
from metamixup.data.folder.tree import scan_vouched
from metamixup.data.image_names import names_of
from metamixup.data.images import DataSet, ImageSet
from metamixup.data.relabel import read_names
from metamixup.errors import DataError

NAMED = 20  # copies of one message


def with_vouched(found: DataSet, source: Path) -> DataSet:
    """The data set, with the training images marked that `source` names, or with those of its folder added."""
    if source.is_dir():
        return _added(found, source)
    return replace(found, vouched_for=read_names(source, found))


def _added(found: DataSet, folder: Path) -> DataSet:
    if folder.resolve() == Path(found.name).resolve():
        raise DataError(_in_data(folder, "the data itself"))
    files = scan_vouched(folder, found.classes)
    _refuse_own(found, folder, files)
    images = packed(folder, [file.path for file in files], files_fingerprint(folder, files), found.shape, None)
    if images is None or not isinstance(found.train.images, torch.Tensor) or found.train.images.dtype != images.dtype:
        raise DataError(f"{folder}: a folder can only be added to images of bytes that the cache has room for")
    names = tuple(readable(f"{folder.name}/{file.path.relative_to(folder).as_posix()}") for file in files)
    labels = torch.tensor([file.label for file in files], dtype=torch.int64)
    added = ImageSet(images, labels, names)
    _refuse_copies(found, folder, added)
    train = _joined(found, added)
    return replace(found, train=train, vouched_for=torch.arange(len(found.train), len(train)))


def _refuse_own(found: DataSet, folder: Path, files: list[ImageFile]) -> None:
    """Images of the data would be there twice, those of its test set in training, too."""
    root, own = Path(found.name).resolve(), {*(found.train.names or ()), *(found.test.names or ())}
    for file in files:
        path = file.path.resolve()
        if path.is_relative_to(root) and (name := readable(path.relative_to(root).as_posix())) in own:
            raise DataError(_in_data(folder, f"in the data already, {name} among its images"))


def _in_data(folder: Path, where: str) -> str:
    return (
        f"{folder}: is {where}; vouch for images of the data by a list of their names (--meta LIST.txt), or leave out "
        "--meta where they lie in the data's own meta/"
    )


def _refuse_copies(found: DataSet, folder: Path, added: ImageSet) -> None:
    pairs = shared(named_digests(found.test, "test"), named_digests(added, "added"))
    copies = [f"{name} = {tested}" for tested, name in pairs]
    if copies:
        more = f" and {len(copies) - NAMED} more" if len(copies) > NAMED else ""
        raise DataError(
            f"{folder}: {len(copies)} of its {len(added)} images are copies of test images, on which no run may train: "
            f"{', '.join(copies[:NAMED])}{more}; take them out of the folder"
        )


def _joined(found: DataSet, added: ImageSet) -> ImageSet:
    train = found.train
    images, labels = torch.cat([train.images, added.images]), torch.cat([train.labels, added.labels])
    others = None if train.others is None else torch.cat([train.others, added.labels])
    return ImageSet(images, labels, (*names_of(found), *(added.names or ())), others)
