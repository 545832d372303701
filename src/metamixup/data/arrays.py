"""Data sets from arrays in memory and from any `torch.utils.data.Dataset`."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from metamixup.data.images import DataSet, ImageSet, statistics
from metamixup.data.splits import stratified_test
from metamixup.errors import DataError

TEST_SHARE = 0.2
SPLIT_SEED = 0
STANDARDISED = 4.0  # pixels of mean 0 and deviation 1, or of 0…1, seldom reach further
FEWEST_CLASSES = 1000  # so many may be numbered however few the images
Channels = Literal["first", "last"]


def from_arrays(
    x: Any,
    y: Any,
    x_test: Any = None,
    y_test: Any = None,
    *,
    unlabelled: Any = None,
    classes: Sequence[str] | None = None,
    name: str = "arrays",
    channels: Channels | None = None,
    flips: bool = False,
) -> DataSet:
    """Images (N, H, W), (N, C, H, W) or (N, H, W, C) and labels (N,), as arrays, tensors or lists.

    Labels are class numbers from 0, or any names. Bytes stay bytes, floats stay floats. Without a test set, a fifth
    of every class becomes it. `channels` says where the channels are when the shape leaves it open.
    """
    if (x_test is None) != (y_test is None):
        raise DataError(f"{name}: a test set needs both images and labels")
    names = tuple(classes) if classes is not None else _class_names(name, y, y_test)
    images, *others = _image_parts([part for part in (x, x_test, unlabelled) if part is not None], name, channels)
    train = ImageSet(images, label_tensor(y, names, name))
    if x_test is not None:
        test = ImageSet(others[0].contiguous(), label_tensor(y_test, names, name))
        train = ImageSet(train.images.contiguous(), train.labels)
    else:
        train, test = with_test_split(train, names, name)
    extra = None if unlabelled is None else ImageSet(others[-1], torch.full((len(others[-1]),), -1))
    mean, std = statistics(train.images)
    found = DataSet(name, train, test, names, mean, std, unlabelled=extra, flips=flips)
    if len(names) < 2:
        raise DataError(f"{name}: all images are of one class ({', '.join(map(repr, names))}); two are needed at least")
    return found


def from_dataset(data: Any, test: Any = None, *, classes: Sequence[str] | None = None, **others: Any) -> DataSet:
    """Any map-style `torch.utils.data.Dataset` of (image, label): images are tensors, arrays or PIL images."""
    x, y = _stacked(data)
    x_test, y_test = (None, None) if test is None else _stacked(test)
    return from_arrays(x, y, x_test, y_test, classes=classes or getattr(data, "classes", None), **others)


def with_test_split(images: ImageSet, classes: Sequence[str], name: str) -> tuple[ImageSet, ImageSet]:
    """A seeded fifth of every class becomes the test set."""
    if len(images) != len(images.labels):
        raise DataError(f"{name}: {len(images)} images but {len(images.labels)} labels")
    parts = stratified_test(images.labels, len(classes), TEST_SHARE, SPLIT_SEED, classes)
    # Selecting makes the one dense copy.
    train, test = (ImageSet(images.images.index_select(0, part), images.labels[part]) for part in parts)
    return train, test


def image_tensor(x: Any, name: str, channels: Channels | None = None) -> Tensor:
    """→ (N, C, H, W) uint8, or float32 where the values are not bytes; a view where it can be."""
    array = _numbers(x, name)
    if array.ndim == 3:
        array = array.unsqueeze(1)
    if array.ndim != 4 or not array.numel():
        raise DataError(f"{name}: images have to be (N, H, W), (N, C, H, W) or (N, H, W, C), not {tuple(array.shape)}")
    last = array.shape[3] <= 4 < array.shape[1] if channels is None else channels == "last"
    array = array.permute(0, 3, 1, 2) if last else array
    if array.shape[1] > 4 and channels is None:
        raise DataError(f"{name}: shape {tuple(array.shape)} leaves open where the channels are; give channels=…")
    return _bytes_or_floats(array, name)


def _image_parts(given: list[Any], name: str, channels: Channels | None) -> list[Tensor]:
    """The images of every part of a data set, in one type. Of integers, a part may lie within bytes by chance while
    another does not: all become floats then."""
    parts = [image_tensor(part, name, channels) for part in given]
    _refuse_other_scales(parts, name)
    mixed = len({part.dtype for part in parts}) > 1
    whole = not any(_numbers(part, name).is_floating_point() for part in given)
    return [part.float() for part in parts] if mixed and whole else parts


def _refuse_other_scales(parts: list[Tensor], name: str) -> None:
    """0…255 in one part of a data set and 0…1 in another would be trained on without a word."""
    largest = [max(-float(low), float(high)) for low, high in (part.aminmax() for part in parts)]
    low, high = min(largest), max(largest)
    if 0 < low <= STANDARDISED and high > 8 * low:
        raise DataError(
            f"{name}: one part of the data reaches {low:g} and another {high:g}; bring training, test and unlabelled "
            "images to one scale"
        )


def _numbers(x: Any, name: str) -> Tensor:
    try:
        if isinstance(x, Tensor):
            return x
        array = np.asarray(x)
        return torch.as_tensor(array.astype(array.dtype.newbyteorder("="), copy=False))
    except (TypeError, ValueError, RuntimeError) as problem:
        raise DataError(f"{name}: not an array of numbers ({problem})") from problem


def _bytes_or_floats(array: Tensor, name: str) -> Tensor:
    if array.dtype == torch.uint8:
        return array
    if array.dtype == torch.bool:
        return array.to(torch.uint8).mul_(255)
    if not array.is_floating_point() and not array.is_complex():
        values = array.numpy(force=True)  # torch has no minimum of unsigned integers beyond bytes
        low, high = int(values.min()), int(values.max())
        return array.to(torch.uint8) if low >= 0 and high <= 255 else array.float()
    floats = array if array.is_complex() else array.float()
    if array.is_complex() or not bool(floats.isfinite().all()):
        raise DataError(f"{name}: pixels have to be real and finite numbers (of 32 bits)")
    return floats


def label_tensor(y: Any, classes: Sequence[str], name: str) -> Tensor:
    """→ (N,) int64. Names become their position among the classes."""
    values = _plain_labels(y, name)
    if values.dtype.kind == "U":
        numbers = {text: number for number, text in enumerate(classes)}
        strange = sorted(set(values.tolist()) - set(numbers))
        if strange:
            raise DataError(f"{name}: label {strange[0]!r} is none of the classes")
        return torch.tensor([numbers[text] for text in values.tolist()])
    labels = torch.from_numpy(values.astype(np.int64))
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < len(classes):
        raise DataError(
            f"{name}: labels lie in {labels.min()}…{labels.max()}, outside the classes 0…{len(classes) - 1}"
        )
    return labels


def _plain_labels(y: Any, name: str) -> np.ndarray:
    """(N,) whole numbers, or names that can be written down; anything else is told before work begins."""
    try:
        values = np.asarray(y).reshape(-1)
        values = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
        if values.dtype.kind == "U":
            "".join(values.tolist()).encode()
            return values
    except (ValueError, TypeError) as problem:  # ragged labels, and names that are no Unicode
        raise DataError(f"{name}: labels have to be class numbers or names ({problem})") from problem
    with np.errstate(invalid="ignore"):
        whole = values.dtype.kind in "uif" and bool(np.equal(np.mod(values, 1), 0).all())
    if not whole or not bool((np.abs(values) < 2**62).all()):
        raise DataError(f"{name}: labels have to be class numbers or names, not {values.dtype} like {values[:1]}")
    return values


def class_texts(names: np.ndarray, name: str) -> list[str]:
    """Names of classes from an array of text, bytes or numbers."""
    values = names.reshape(-1)
    return [str(text) for text in (_plain_labels(values, name) if values.dtype.kind in "US" else values)]


def _class_names(name: str, *labels: Any) -> tuple[str, ...]:
    """As many as the largest number says, but never more than there are labels: one wrong number would take all
    memory."""
    values = np.concatenate([_plain_labels(y, name) for y in labels if y is not None])
    if values.dtype.kind == "U":
        return tuple(str(text) for text in np.unique(values))
    largest = int(values.max(initial=0))
    if largest >= max(len(values), FEWEST_CLASSES):
        raise DataError(
            f"{name}: label {largest} among {len(values)} images; class numbers count from 0, so give names in their "
            "place (as text) or all names as `classes`"
        )
    return tuple(str(c) for c in range(largest + 1))


def _stacked(data: Any) -> tuple[Tensor, np.ndarray]:
    images, labels = zip(*_samples(data), strict=True)
    return torch.stack(images), np.asarray(labels)


def _samples(data: Any) -> Iterator[tuple[Tensor, Any]]:
    if not len(data):
        raise DataError("the data set is empty")
    for position in range(len(data)):
        image, label = data[position]
        yield image if isinstance(image, Tensor) else torch.as_tensor(np.array(image)), label
