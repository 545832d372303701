"""NumPy's .npz archives of arrays, sizes checked first. Object arrays are pickles, and are refused."""

import math
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from metamixup.data.arrays import class_texts, from_arrays
from metamixup.data.formats.reading import Readable, check_declared, read_exactly
from metamixup.data.images import DataSet, may_flip
from metamixup.errors import DataError

# The usual names: Keras', MedMNIST's, plain ones.
NAMES = {
    "x": ("x_train", "train_images", "x", "X", "images", "data"),
    "y": ("y_train", "train_labels", "y", "labels", "targets"),
    "x_test": ("x_test", "test_images"),
    "y_test": ("y_test", "test_labels"),
    "unlabelled": ("unlabelled", "x_unlabelled", "unlabeled", "x_unlabeled"),
    "classes": ("classes", "class_names"),
}


def load_npz(path: Path) -> DataSet:
    wanted = {name for names in NAMES.values() for name in names}
    arrays = read_npz(path, wanted)
    found = {key: next((arrays[n] for n in names if n in arrays), None) for key, names in NAMES.items()}
    if found["x"] is None or found["y"] is None:
        raise DataError(f"{path}: needs images and labels as x_train and y_train (or x and y); has {_listed(path)}")
    names = None if found["classes"] is None else class_texts(found["classes"], str(path))
    parts = [found[key] for key in ("x", "y", "x_test", "y_test")]
    loaded = from_arrays(*parts, unlabelled=found["unlabelled"], classes=names, name=str(path))
    return replace(loaded, flips=may_flip(loaded.classes, loaded.shape[0]))


def read_npz(path: Path, wanted: set[str]) -> dict[str, np.ndarray]:
    """The wanted arrays that the archive holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [e for e in archive.infolist() if e.filename.removesuffix(".npy") in wanted]
            check_declared(path, sum(e.file_size for e in entries), "save it with numpy.savez, which does not compress")
            return {e.filename.removesuffix(".npy"): _array(path, archive, e) for e in entries}
    except DataError:
        raise
    except Exception as problem:  # zipfile, zlib and numpy each have a handful of errors for damaged bytes
        raise DataError(f"{path}: cannot be read as an .npz file ({problem})") from problem


def _array(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read_header[version](stream)
        if dtype.hasobject:
            raise DataError(f"{path}: {entry.filename} holds Python objects, which only a pickle can store")
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size > entry.file_size:
            raise DataError(f"{path}: {entry.filename} promises {size} bytes but holds {entry.file_size}")
        values = read_exactly(path, cast(Readable, stream), size)
    return values.view(dtype).reshape(shape, order="F" if fortran else "C")


def array_names(path: Path) -> list[str]:
    """Of the arrays in the archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sorted(name.removesuffix(".npy") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile) as problem:
        raise DataError(f"{path}: cannot be read as an .npz file ({problem})") from problem


def _listed(path: Path) -> str:
    return ", ".join(array_names(path)[:12]) or "nothing"
