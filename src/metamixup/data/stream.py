"""Batches as a pure function of the step: a resumed run reads what an uninterrupted one would have read."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from metamixup.data.augment import Augment
from metamixup.data.images import ImageSet
from metamixup.seeding import derived_generator

Order = Callable[[Tensor, torch.Generator], Tensor]  # positions (N,) → those of an epoch, (N,)


def shuffled(index: Tensor, generator: torch.Generator) -> Tensor:
    return index[torch.randperm(len(index), generator=generator)]


def balanced(labels: Tensor) -> Order:
    """As many images as there are, every class equally often: those of rare classes come several times an epoch."""

    def draw(index: Tensor, generator: torch.Generator) -> Tensor:
        own = labels[index]
        weights = 1 / own.bincount().clamp_min(1)[own].double()
        return index[torch.multinomial(weights, len(index), replacement=True, generator=generator)]

    return draw


class Stream:
    """Endless epochs over `images[index]`; `batch_size` is the global batch of all processes together.

    A last partial batch is dropped, unless the whole set is smaller than a batch: then the set is the batch.
    """

    def __init__(
        self,
        images: ImageSet,
        index: Tensor,
        batch_size: int,
        seed: int,
        name: str,
        augment: Augment | None = None,
        mean: tuple[float, ...] = (0.0,),
        std: tuple[float, ...] = (1.0,),
        views: int = 1,
        order: Order = shuffled,
    ) -> None:
        if not len(index):
            raise ValueError(f"the stream {name!r} has no images")
        self.images, self.index = images, index
        self.batch_size = min(batch_size, len(index))
        self.seed, self.name, self.views = seed, name, views
        self.augment = augment or Augment()
        self.normalise = Normalise(mean, std, images.images)
        self._order, self._draw = (-1, index), order

    @property
    def steps_per_epoch(self) -> int:
        return len(self.index) // self.batch_size

    def order(self, epoch: int) -> Tensor:
        """(N,) positions in the data set in the order of that epoch; the last one asked for is kept."""
        if self._order[0] != epoch:
            generator = derived_generator(self.seed, self.name, "order", epoch)
            self._order = (epoch, self._draw(self.index, generator))
        return self._order[1]

    def batch(self, step: int, rank: int = 0, world: int = 1) -> tuple[Tensor | tuple[Tensor, ...], Tensor, Tensor]:
        """(x, y, index) of one process: x (b, C, H, W) float32 normalised, one for each view if there are several."""
        epoch, position = divmod(step, self.steps_per_epoch)
        low, high = (self.batch_size * r // world for r in (rank, rank + 1))
        start = position * self.batch_size
        index = self.order(epoch)[start + low : start + high]
        alternate = self._alternate(index, epoch) if self.augment.flip and self.augment.alternate else None
        here = index.to(self.images.images.device)
        raw = self.images.images.index_select(0, here)
        views = tuple(self._view(raw, step, view, low, high, alternate) for view in range(self.views))
        return views if self.views > 1 else views[0], self.images.labels[index.to(self.images.labels.device)], index

    def _alternate(self, index: Tensor, epoch: int) -> Tensor:
        """(b,) which images are mirrored: a coin for each image of the set, turned over every epoch."""
        return self.coins[index] ^ bool(epoch % 2)

    @cached_property
    def coins(self) -> Tensor:
        return torch.rand(len(self.images), generator=derived_generator(self.seed, self.name, "flips")) < 0.5

    def _view(self, raw: Tensor, step: int, view: int, low: int, high: int, alternate: Tensor | None) -> Tensor:
        generator = derived_generator(self.seed, self.name, "augment", step, view)
        draw = self.augment.draw((self.batch_size, *raw.shape[1:]), generator).part(low, high)
        if alternate is not None:
            draw = replace(draw, flip=alternate ^ bool(view % 2))
        return self.augment.disturb(self.normalise(self.augment.move(raw, draw)), draw)


class After(Stream):
    """A stream that gives way to another: from the step `since` on, batches are those of `later`."""

    def __init__(self, first: Stream, later: Stream, since: int):
        self.__dict__.update(first.__dict__)
        self.first, self.later, self.since = first, later, since

    def batch(self, step: int, rank: int = 0, world: int = 1) -> tuple[Tensor | tuple[Tensor, ...], Tensor, Tensor]:
        return (self.first if step < self.since else self.later).batch(step, rank, world)


class Normalise:
    """Pixels → float32 with mean 0 and deviation 1 in every channel; uint8 counts as 0…1."""

    def __init__(self, mean: tuple[float, ...], std: tuple[float, ...], like: Tensor) -> None:
        full = 255.0 if like.dtype == torch.uint8 else 1.0
        spread = torch.tensor(std, dtype=torch.float64)
        self.scale = (1 / (full * spread)).float().view(1, -1, 1, 1).to(like.device)
        self.offset = (torch.tensor(mean, dtype=torch.float64) / spread).float().view(1, -1, 1, 1).to(like.device)

    def __call__(self, x: Tensor) -> Tensor:
        """x: (B, C, H, W)."""
        # `mul` makes the copy for float input, which must not be changed in place.
        return x.mul(self.scale).sub_(self.offset)
