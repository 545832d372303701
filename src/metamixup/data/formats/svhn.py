"""Street View House Numbers, cropped digits, from train_32x32.mat and test_32x32.mat."""

from pathlib import Path

import numpy as np
import torch

from metamixup.data.arrays import with_test_split
from metamixup.data.formats.mat import read_mat
from metamixup.data.images import DataSet, ImageSet, statistics
from metamixup.errors import DataError

CHUNK = 1024


def load_svhn(folder: Path) -> DataSet:
    train, test = read_svhn(folder / "train_32x32.mat"), read_svhn(folder / "test_32x32.mat")
    digits = tuple("0123456789")
    mean, std = (0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)
    return DataSet("svhn", train, test, digits, mean, std, flips=False)


def load_file(path: Path) -> DataSet:
    """One file of the format: a fifth of it becomes the test set."""
    images, digits = read_svhn(path), tuple("0123456789")
    train, test = with_test_split(images, digits, str(path))
    return DataSet(str(path), train, test, digits, *statistics(train.images), flips=False)


def has_svhn(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("train_32x32.mat", "test_32x32.mat"))


def read_svhn(path: Path) -> ImageSet:
    """X (32, 32, 3, N) and y (N, 1), where the label 10 means the digit 0."""
    arrays = read_mat(path, frozenset("Xy"))
    x, y = arrays.get("X"), arrays.get("y")
    if x is None or y is None:
        raise DataError(f"{path}: an SVHN file holds X and y; found {', '.join(sorted(arrays)) or 'neither'}")
    if x.dtype != np.uint8 or x.ndim != 4 or x.shape[2] != 3 or not x.size:
        raise DataError(f"{path}: X has to be (height, width, 3, N) bytes, not {x.shape} {x.dtype}")
    if y.size != x.shape[3]:
        raise DataError(f"{path}: {x.shape[3]} images but {y.size} labels")
    labels = y.ravel().astype(np.float64)
    if not np.isin(labels, range(11)).all():
        raise DataError(f"{path}: labels have to be 1…10")
    return ImageSet(_channels_first(x), torch.from_numpy(labels.astype(np.int64) % 10))


def _channels_first(x: np.ndarray) -> torch.Tensor:
    """(H, W, 3, N) in Fortran order → (N, 3, H, W); square images are turned in place, to keep to one copy."""
    images = torch.from_numpy(x.T)
    if images.shape[2] != images.shape[3]:
        return images.transpose(2, 3).contiguous()
    for part in images.split(CHUNK):
        part.copy_(part.transpose(2, 3).clone())
    return images
