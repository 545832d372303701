"""Data sets of the Hugging Face Hub through `datasets` (extra `hub`), and parquet files in the Hub's form.

`hub:NAME`, with options after a question mark: `hub:cifar100?label=coarse_label&image=img&config=…`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import torch

from metamixup.data.arrays import label_tensor, with_test_split
from metamixup.data.folder.decode import decode, probe, without_pillow_warnings
from metamixup.data.folder.files import readable
from metamixup.data.images import DataSet, ImageSet, statistics
from metamixup.errors import DataError, unknown

IMAGE_COLUMNS = ("image", "img", "images", "pixel_values")
LABEL_COLUMNS = ("label", "fine_label", "labels", "target", "class")
TRAIN_SPLITS = ("train",)
TEST_SPLITS = ("test", "validation", "valid", "val")
OPTIONS = ("image", "label", "config", "train", "test")
# Digits and characters change their meaning in a mirror.
NO_FLIPS = ("mnist", "svhn", "digit")
FASHION = "fashion"


def load_hub(address: str, image_size: int | None = None) -> DataSet:
    """A data set of the Hub by its NAME, or a local folder in the Hub's form."""
    name, _, query = address.partition("?")
    options = dict(parse_qsl(query))
    for key in options:
        if key not in OPTIONS:
            raise unknown("option of hub:", key, OPTIONS)
    if not name:
        raise DataError("hub: needs a name, as in hub:ylecun/mnist")
    return _load(f"hub:{address}", [name, options.get("config")], {}, options, image_size)


def load_parquet(path: Path) -> DataSet:
    """One parquet file: a fifth of it becomes the test set."""
    return _load(str(path), ["parquet"], {"data_files": {"train": str(path)}}, {}, None)


def _load(
    name: str, what: list[str | None], how: dict[str, Any], options: dict[str, str], image_size: int | None
) -> DataSet:
    try:
        import datasets
    except ImportError as missing:
        raise DataError(f"{name}: needs the package `datasets`; pip install 'metamixup[hub]'") from missing
    from metamixup.data.folder.packed import cache_folder

    try:
        found = datasets.load_dataset(*what, **how, cache_dir=str(cache_folder() / "hub"))
        return _from_splits(name, found, options, image_size)
    except DataError:
        raise
    except Exception as problem:  # network, hub and arrow errors of many kinds
        raise DataError(f"{name}: cannot be loaded ({type(problem).__name__}: {str(problem)[:300]})") from problem


def _from_splits(name: str, found: Any, options: dict[str, str], image_size: int | None) -> DataSet:
    train = found[_named(name, "split", found, options.get("train"), TRAIN_SPLITS)]
    test_name = options.get("test") or next((s for s in TEST_SPLITS if s in found), None)
    columns = Columns.of(name, train, options, image_size)
    first = columns.read(train)
    if test_name is None:
        first, second = with_test_split(first, columns.classes, name)
    else:
        second = columns.read(found[_named(name, "split", found, test_name, ())])
    last = name.partition("?")[0].rsplit("/", 1)[-1].lower()
    flips = FASHION in last or not any(word in last for word in NO_FLIPS)
    return DataSet(name, first, second, columns.classes, *statistics(first.images), flips=flips)


def _named(name: str, kind: str, there: Any, given: str | None, usual: Sequence[str]) -> str:
    """The given column or split, or the first of the usual ones that is there."""
    for candidate in [given] if given else usual:
        if candidate in there:
            return str(candidate)
    raise DataError(f"{name}: no {kind} {given or ' or '.join(usual)!r}; it has {', '.join(map(str, there))}")


@dataclass(frozen=True)
class Columns:
    """Which columns hold images and labels, the names of the classes, and the shape the images are brought to."""

    name: str
    image: str
    label: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]

    @staticmethod
    def of(name: str, table: Any, options: dict[str, str], image_size: int | None) -> "Columns":
        image = _named(name, "image column", table.column_names, options.get("image"), IMAGE_COLUMNS)
        label = _named(name, "label column", table.column_names, options.get("label"), LABEL_COLUMNS)
        names = getattr(table.features[label], "names", None) or sorted({str(value) for value in table[label]})
        if not len(table):
            raise DataError(f"{name}: the table is empty")
        with without_pillow_warnings():
            header = probe(_encoded(name, _undecoded(table, image)[0][image]))
        if header is None:
            raise DataError(f"{name}: the first value of column {image!r} is not a JPEG, PNG or WebP image")
        width, height, grey = header
        size = image_size or min(width, height)
        return Columns(name, image, label, tuple(readable(str(n)) for n in names), (1 if grey else 3, size, size))

    def read(self, table: Any) -> ImageSet:
        values = table[self.label]
        labels = np.asarray(values if not isinstance(values[0], str) else [str(value) for value in values])
        images = np.empty((len(table), *self.shape), np.uint8)
        rows = _undecoded(table, self.image)

        def fill(row: int) -> None:
            encoded = _encoded(self.name, rows[row][self.image])
            images[row] = decode(encoded, self.shape[1], self.shape[0], f"{self.name}, row {row}")

        with without_pillow_warnings(), ThreadPoolExecutor() as pool:
            list(pool.map(fill, range(len(table))))
        return ImageSet(torch.from_numpy(images), label_tensor(labels, self.classes, self.name))


def _undecoded(table: Any, column: str) -> Any:
    """The encoded bytes as they are stored: `datasets` would decode without our bounds."""
    import datasets

    plain = table.select_columns([column])
    return plain.cast_column(column, datasets.Image(decode=False)) if _is_image(table.features[column]) else plain


def _is_image(feature: Any) -> bool:
    return type(feature).__name__ == "Image"


def _encoded(name: str, value: Any) -> bytes:
    content = value.get("bytes") if isinstance(value, dict) else value
    if not isinstance(content, bytes):
        raise DataError(f"{name}: the image column has to hold encoded images")
    return content
