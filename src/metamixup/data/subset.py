"""A smaller training set for quick runs: seeded, its classes in their proportions. The test set stays whole."""

from dataclasses import replace

import torch

from metamixup.data.images import DataSet, ImageSet
from metamixup.data.splits import shuffled_by_class
from metamixup.errors import DataError
from metamixup.mixing.seeding import derived_generator


def take_subset(found: DataSet, size: int, seed: int) -> DataSet:
    """`size` images of the training set; what the classes' shares leave over goes to the largest remainders."""
    total = len(found.train)
    if size > total:
        raise DataError(f"{found.name}: a subset of {size} images was asked for, but there are only {total}")
    pools = shuffled_by_class(found.train.labels, found.num_classes, derived_generator(seed, "subset"))
    shares = [len(pool) * size / total for pool in pools]
    sizes = [int(share) for share in shares]
    by_remainder = sorted(range(len(pools)), key=lambda c: sizes[c] - shares[c])
    for c in by_remainder[: size - sum(sizes)]:
        sizes[c] += 1
    kept = torch.cat([pool[:count] for pool, count in zip(pools, sizes, strict=True)]).sort().values
    return replace(found, train=ImageSet(found.train.images[kept], found.train.labels[kept]))
