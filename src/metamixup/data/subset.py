"""Parts of a training set: a smaller one for quick runs, and a selection set to choose between variants by.

Both are seeded and have the classes in their proportions. The test set stays whole.
"""

from dataclasses import replace

import torch
from torch import Tensor

from metamixup.data.images import DataSet
from metamixup.data.splits import shuffled_by_class
from metamixup.errors import DataError
from metamixup.seeding import derived_generator


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
