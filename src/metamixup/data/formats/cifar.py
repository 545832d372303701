"""CIFAR-10 and -100 from the official *binary* version, as a folder or as the archive it came in.

Not here: the 'python' version, which is a pickle. Reading a pickle runs whatever code it holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from metamixup.data.formats.reading import read_exactly
from metamixup.data.formats.tar import read_members
from metamixup.data.images import DataSet, ImageSet
from metamixup.errors import DataError

PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Layout:
    """One of the two: its files, how many label bytes open a record, and which of them counts."""

    name: str
    folder: str
    archive: str
    pickled: tuple[str, ...]
    train: tuple[str, ...]
    test: tuple[str, ...]
    names: str
    label_bytes: int
    label: int
    num_classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.train, *self.test, self.names)


CIFAR10 = Layout(
    "cifar10",
    folder="cifar-10-batches-bin",
    archive="cifar-10-binary.tar.gz",
    pickled=("cifar-10-python.tar.gz", "cifar-10-batches-py"),
    train=tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
    test=("test_batch.bin",),
    names="batches.meta.txt",
    label_bytes=1,
    label=0,
    num_classes=10,
    mean=(0.4914, 0.4822, 0.4465),
    std=(0.2470, 0.2435, 0.2616),
)


def cifar100(labels: Literal["fine", "coarse"] = "fine") -> Layout:
    """A record of CIFAR-100 begins with its coarse label (20 superclasses), then the fine one (100 classes)."""
    return Layout(
        "cifar100" if labels == "fine" else "cifar100-coarse",
        folder="cifar-100-binary",
        archive="cifar-100-binary.tar.gz",
        pickled=("cifar-100-python.tar.gz", "cifar-100-python"),
        train=("train.bin",),
        test=("test.bin",),
        names=f"{labels}_label_names.txt",
        label_bytes=2,
        label=("coarse", "fine").index(labels),
        num_classes=100 if labels == "fine" else 20,
        mean=(0.5071, 0.4865, 0.4409),
        std=(0.2673, 0.2564, 0.2762),
    )


def has_cifar(layout: Layout, folder: Path) -> bool:
    return (folder / layout.archive).is_file() or any((folder / name).is_file() for name in layout.train)


def read_cifar(layout: Layout, source: Path) -> DataSet:
    """`source`: a folder with the .bin files or the archive, or the archive itself."""
    found = dict(_from_archive(layout, source) if source.is_file() else _from_folder(layout, source))
    for name in (*layout.train, *layout.test):
        if name not in found:
            raise DataError(f"{source}: {name} is missing")
    train, test = (
        [parse_records(layout, source, n, found.pop(n)) for n in part] for part in (layout.train, layout.test)
    )
    classes = _class_names(layout, found.get(layout.names))
    return DataSet(layout.name, _joined(train), _joined(test), classes, layout.mean, layout.std)


def _from_folder(layout: Layout, folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    if not any((folder / name).is_file() for name in layout.train):
        yield from _from_archive(layout, folder / layout.archive)
        return
    for name in layout.files:
        if (path := folder / name).is_file():
            with path.open("rb") as stream:
                yield name, read_exactly(path, stream, path.stat().st_size)


def _from_archive(layout: Layout, path: Path) -> Iterator[tuple[str, np.ndarray]]:
    return read_members(path, frozenset(layout.files))


def parse_records(layout: Layout, source: Path, name: str, content: np.ndarray) -> ImageSet:
    """content: (bytes,) uint8, a whole number of records of label bytes and 3×32×32 pixels."""
    record = layout.label_bytes + PIXELS
    if not len(content) or len(content) % record:
        raise DataError(
            f"{source / name}: {len(content)} bytes are not a whole number of {layout.name} records of {record}"
        )
    records = torch.from_numpy(content).view(-1, record)
    labels = records[:, layout.label].long()
    if int(labels.max()) >= layout.num_classes:
        raise DataError(f"{source / name}: label {int(labels.max())} is outside 0…{layout.num_classes - 1}")
    return ImageSet(records[:, layout.label_bytes :].reshape(-1, 3, 32, 32), labels)


def _joined(parts: list[ImageSet]) -> ImageSet:
    return ImageSet(torch.cat([p.images for p in parts]), torch.cat([p.labels for p in parts]))


def _class_names(layout: Layout, content: np.ndarray | None) -> tuple[str, ...]:
    """The names that came with the data; plain numbers if that file is missing or does not fit."""
    text = b"" if content is None else content.tobytes()
    names = tuple(text.decode("utf-8", "replace").split())
    return names if len(names) == layout.num_classes else tuple(str(c) for c in range(layout.num_classes))
