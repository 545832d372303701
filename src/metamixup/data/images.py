"""Labelled images in memory (or memory-mapped), and a data set made of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from metamixup.errors import DataError

if TYPE_CHECKING:
    from metamixup.data.whiten import Whiten

MOST_PIXELS = 2 * 10**8
SIDES = {"left", "right"}


@dataclass(frozen=True)
class ImageSet:
    """images: (N, C, H, W) uint8, or float32 where they were given or whitened so; labels: (N,) int64.

    names: of their files, where there are any; others: (N,) labels that someone else gave them.
    """

    images: Tensor
    labels: Tensor
    names: tuple[str, ...] | None = None
    others: Tensor | None = None

    def take(self, index: Tensor) -> "ImageSet":
        """The images at these positions."""
        names = None if self.names is None else tuple(self.names[k] for k in index.tolist())
        others = None if self.others is None else self.others[index]
        return ImageSet(self.images[index], self.labels[index], names, others)

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class DataSet:
    """What a run trains and tests on; mean and std are of the pixels scaled to 0…1 (floats: as they are).

    `flips`: may an image be mirrored and keep its label (not so for digits);
    `meta_per_class`: the size of the meta set where the data set has one of its own;
    `selection`: images held out to choose between variants by; `whiten`: what the images have been whitened with;
    `vouched_for`: (M,) positions of the training images whose labels the user vouches for, who are the meta set then.
    """

    name: str
    train: ImageSet
    test: ImageSet
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    unlabelled: ImageSet | None = None
    flips: bool = True
    meta_per_class: int | None = None
    selection: ImageSet | None = None
    whiten: "Whiten | None" = None
    vouched_for: Tensor | None = None

    def __post_init__(self) -> None:
        _check_names(self.name, self.classes)
        for part, images in (("training", self.train), ("test", self.test)):
            _check(f"{self.name}, {part} set", images, len(self.classes))
        for kind, other in (("a test", self.test), ("an unlabelled", self.unlabelled)):
            if other is not None:
                _check_alike(self.name, kind, other.images, self.train.images)

    @property
    def num_classes(self) -> int:
        return len(self.classes)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W) of one image."""
        channels, height, width = self.train.images.shape[1:]
        return channels, height, width


def may_flip(classes: tuple[str, ...], channels: int) -> bool:
    """May images be mirrored, for all one can see? Grey ones are often writing or scans, and single characters,
    numbers and sides change their meaning in a mirror."""
    characters = all(len(name) == 1 or name.isdecimal() for name in classes)
    return channels > 1 and not characters and not any(SIDES & set(name.lower().split()) for name in classes)


def _check(what: str, part: ImageSet, num_classes: int) -> None:
    if part.images.ndim != 4 or not len(part):
        raise DataError(f"{what}: expected (N, C, H, W) images, at least one, not {tuple(part.images.shape)}")
    if len(part.labels) != len(part):
        raise DataError(f"{what}: {len(part)} images but {len(part.labels)} labels")
    low, high = int(part.labels.min()), int(part.labels.max())
    if low < 0 or high >= num_classes:
        raise DataError(f"{what}: labels lie in {low}…{high}, outside the classes 0…{num_classes - 1}")


def _check_names(name: str, classes: tuple[str, ...]) -> None:
    """Names are written to files at the end of a run: what cannot be written is told before it."""
    for text in classes:
        try:
            text.encode()
        except (AttributeError, UnicodeError) as problem:
            raise DataError(f"{name}: a class has to have a name of Unicode text, not {text!r}") from problem


def _check_alike(name: str, kind: str, other: Tensor, train: Tensor) -> None:
    """Only shape and type are asked for: the images themselves may still lie on disk."""
    (found, dtype), (wanted, wanted_dtype) = ((tuple(x.shape[1:]), x.dtype) for x in (other, train))
    if found != wanted or dtype != wanted_dtype:
        raise DataError(
            f"{name}: {kind} image is {found} {dtype}, a training image {wanted} {wanted_dtype}; "
            "bring both to one size and type"
        )


def statistics(images: Tensor, chunk: int = 256) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel, read in chunks so that a memory map stays on disk.

    images: (N, C, H, W); of very many, evenly spaced ones are read. A channel without any variation gets 1, so that
    nothing is divided by zero.
    """
    step = -(-images.numel() // MOST_PIXELS)
    # Sums of differences from one image's mean: float32 would lose small variations about a large mean.
    centre = images[:1].float().mean((0, 2, 3))[:, None]
    total, squares = torch.zeros(2, images.shape[1], dtype=torch.float64)
    count = 0
    for start in range(0, len(images), chunk * step):
        part = images[start : start + chunk * step : step].transpose(0, 1).flatten(1).float().sub_(centre)
        total += part.sum(1)
        squares += torch.linalg.vecdot(part, part)
        count += part.shape[1]
    scale = 255.0 if images.dtype == torch.uint8 else 1.0
    mean = (centre[:, 0] + total / count) / scale
    std = (squares / count - (total / count).square()).clamp_min(0).sqrt() / scale
    if not bool(std.isfinite().all()):
        raise DataError("pixels are too large for their variation to be told; bring them to 0…1")
    return tuple(mean.tolist()), tuple(s if s > 1e-6 else 1.0 for s in std.tolist())
