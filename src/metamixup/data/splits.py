"""Seeded, balanced labelled, unlabelled and meta sets, disjoint by construction.

Section 3 of the specification in short: with few labels, the meta labels count in the budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from metamixup.errors import DataError, UserError
from metamixup.seeding import derived_generator

LEAST_META, MOST_META = 10, 100
META = "meta.per_class"


@dataclass(frozen=True)
class Split:
    """Positions in the training set, each (N,) int64 and sorted: labelled training images, unlabelled, meta."""

    train: Tensor
    unlabelled: Tensor
    meta: Tensor


def default_meta_per_class(labels: Tensor, num_classes: int) -> int:
    """10 % of the training images, at most 100 and at least 10 a class, but no more than a quarter of the smallest
    class. labels: (N,)."""
    smallest = int(labels.bincount(minlength=num_classes).min())
    return min(MOST_META, max(LEAST_META, len(labels) // (10 * num_classes)), max(1, smallest // 4))


def split(
    labels: Tensor,
    num_classes: int,
    *,
    seed: int,
    labelled: int | None = None,
    meta_per_class: int | None = None,
    meta: Literal["labelled", "extra"] = "labelled",
    meta_in_train: bool = False,
    classes: Sequence[str] | None = None,
) -> Split:
    """Divide a training set. labels: (N,); `classes` are their names, for messages.

    Without `labelled` every image keeps its label, and the meta set is held out (or kept in with `meta_in_train`).
    With it, that many labels are kept, balanced, and the rest is unlabelled; the labelled set serves as the meta set,
    or with meta="extra" the meta set is drawn beside it, as the paper does.
    """
    if meta not in ("labelled", "extra"):
        raise UserError(f"meta is 'labelled' or 'extra', not {meta!r}")
    pools = Pools(labels, num_classes, seed, classes)
    if labelled is None:
        sizes = _meta_sizes(meta_per_class, labels, num_classes)
        held_out = pools.take(sizes, "the meta set", 0 if meta_in_train else 1, META)
        rest = pools.rest()
        return Split(_union(rest, held_out) if meta_in_train else rest, rest[:0], held_out)
    train = pools.take(balanced_sizes(labelled, num_classes, seed), "the labelled set", setting="ssl.labels")
    if meta == "labelled":
        return Split(train, pools.rest(), train)
    extra = pools.take(_meta_sizes(meta_per_class, labels, num_classes), "the meta set", setting=META)
    return Split(_union(train, extra) if meta_in_train else train, pools.rest(), extra)


def stratified_test(
    labels: Tensor, num_classes: int, share: float, seed: int, classes: Sequence[str] | None = None
) -> tuple[Tensor, Tensor]:
    """(train, test) positions with `share` of every class in the test set, at least one; a lone image is trained on."""
    counts = labels.bincount(minlength=num_classes).tolist()
    sizes = [min(max(1, round(share * count)), max(0, count - 1)) for count in counts]
    pools = Pools(labels, num_classes, seed, classes)
    test = pools.take(sizes, "the test set")
    return pools.rest(), test


def balanced_sizes(total: int, num_classes: int, seed: int) -> list[int]:
    """`total` shared out among the classes; a remainder goes to classes drawn at random, one each."""
    if total < num_classes:
        raise UserError(
            f"{total} labelled images are fewer than the {num_classes} classes; ask for at least one a class"
        )
    each, left = divmod(total, num_classes)
    lucky = torch.randperm(num_classes, generator=derived_generator(seed, "split", "remainder"))[:left].tolist()
    return [each + (c in lucky) for c in range(num_classes)]


def shuffled_by_class(labels: Tensor, num_classes: int, generator: torch.Generator) -> list[Tensor]:
    """The positions of every class, each in a random order. labels: (N,)."""
    order = torch.randperm(len(labels), generator=generator)
    by_class = order[labels[order].argsort(stable=True)]
    return list(by_class.split(labels.bincount(minlength=num_classes).tolist()))


class Pools:
    """The images of every class in a random order: what was taken once cannot be taken again."""

    def __init__(self, labels: Tensor, num_classes: int, seed: int, classes: Sequence[str] | None = None) -> None:
        self.pools = shuffled_by_class(labels, num_classes, derived_generator(seed, "split"))
        self.names = classes or [str(c) for c in range(num_classes)]

    def take(self, sizes: Sequence[int], what: str, keep: int = 0, setting: str = "") -> Tensor:
        """sizes[c] images of class c; at least `keep` of each class have to stay. `setting` decides on the sizes."""
        for size, pool, name in zip(sizes, self.pools, self.names, strict=True):
            if len(pool) < size + keep:
                rest = f" and {keep} to train on" * bool(keep)
                smaller = f"ask for fewer (--set {setting}=…) or " * bool(setting and len(pool) > keep)
                raise DataError(
                    f"class {name!r} has {len(pool)} image(s) left: too few for {size} in {what}{rest}; "
                    f"{smaller}add images of that class"
                )
        taken = [pool[:size] for size, pool in zip(sizes, self.pools, strict=True)]
        self.pools = [pool[size:] for size, pool in zip(sizes, self.pools, strict=True)]
        return torch.cat(taken).sort().values

    def rest(self) -> Tensor:
        return torch.cat(self.pools).sort().values


def _meta_sizes(per_class: int | None, labels: Tensor, num_classes: int) -> list[int]:
    if per_class is None:
        per_class = default_meta_per_class(labels, num_classes)
    if per_class < 1:
        raise UserError(f"the meta set needs at least 1 image a class, not {per_class}")
    return [per_class] * num_classes


def _union(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a, b]).sort().values
