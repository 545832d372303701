"""Parts of a data set: some of its classes, a smaller training set for quick runs, and a selection set to choose
between variants by.

All are seeded; the latter two have the classes in their proportions and leave the test set whole.
"""

from dataclasses import replace

import torch
from torch import Tensor

from metamixup.data.images import DataSet, ImageSet
from metamixup.data.splits import shuffled_by_class
from metamixup.errors import DataError
from metamixup.seeding import derived_generator


def take_classes(found: DataSet, count: int, seed: int) -> DataSet:
    """The data set with `count` of its classes, training and test images."""
    if not 2 <= count <= found.num_classes:
        raise DataError(
            f"{found.name}: {count} classes were asked for, but there are {found.num_classes}; take 2 or more"
        )
    if any(part.others is not None for part in (found.train, found.test)):
        raise DataError(f"{found.name}: with labels of people's own, all classes are needed (leave out `classes`)")
    order = torch.randperm(found.num_classes, generator=derived_generator(seed, "classes"))
    kept = order[:count].sort().values
    new = torch.full((found.num_classes,), -1).scatter(0, kept, torch.arange(count))

    def renumbered(part: ImageSet) -> ImageSet:
        part = part.take((new[part.labels] >= 0).nonzero()[:, 0])
        return replace(part, labels=new[part.labels])

    trained = _with_training_images(found, (new[found.train.labels] >= 0).nonzero()[:, 0])
    names = tuple(found.classes[c] for c in kept.tolist())
    return replace(trained, train=renumbered(found.train), test=renumbered(found.test), classes=names)


def take_subset(found: DataSet, size: int, seed: int) -> DataSet:
    """The data set with `size` of its training images."""
    return _with_training_images(found, _chosen(found, size, seed, "subset"))


def take_selection(found: DataSet, size: int, seed: int) -> DataSet:
    """The data set with `size` of its training images held out as the selection set."""
    chosen = _chosen(found, size, seed, "selection")
    rest = torch.ones(len(found.train), dtype=torch.bool)
    rest[chosen] = False
    held_out = found.train.take(chosen)
    return replace(_with_training_images(found, rest.nonzero()[:, 0]), selection=held_out)


def _with_training_images(found: DataSet, index: Tensor) -> DataSet:
    """The data set with these alone, and with the new positions of vouched-for images. index: (n,), sorted."""
    known = index[:0] if found.vouched_for is None else torch.isin(index, found.vouched_for).nonzero()[:, 0]
    return replace(found, train=found.train.take(index), vouched_for=known if len(known) else None)


def _chosen(found: DataSet, size: int, seed: int, what: str) -> Tensor:
    """Sorted positions; what the classes' shares leave over goes to the largest remainders."""
    total = len(found.train)
    if size > total:
        raise DataError(f"{found.name}: a {what} of {size} images was asked for, but there are only {total}")
    pools = shuffled_by_class(found.train.labels, found.num_classes, derived_generator(seed, what))
    shares = [len(pool) * size / total for pool in pools]
    sizes = [int(share) for share in shares]
    by_remainder = sorted(range(len(pools)), key=lambda c: sizes[c] - shares[c])
    for c in by_remainder[: size - sum(sizes)]:
        sizes[c] += 1
    return torch.cat([pool[:count] for pool, count in zip(pools, sizes, strict=True)]).sort().values
