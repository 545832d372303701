"""Blends of images by regions: a box of one image is pasted into another, so that every pixel is of one of the two."""

from dataclasses import dataclass

import torch
from torch import Tensor

from metamixup.mixing.mix import Mixture, surely_finite


@dataclass(frozen=True)
class Regions(Mixture):
    """lam is exactly the first sample's share of the area.

    box: (B, 4) top, left, bottom and right in pixels, the last two being the first pixels after it; own: (B,) bool, is
    the box of the first sample? Otherwise it is of the partner; image_size: height and width.
    """

    box: Tensor
    own: Tensor
    image_size: tuple[int, int]

    @property
    def keep(self) -> Tensor:
        """(B, H, W) bool, where the first sample stays."""
        return self._first(*self._inside()) == 1

    def inputs(self, x: Tensor) -> Tensor:
        """x: (B, …, H, W) of this size."""
        if x.shape[-2:] != self.image_size:
            raise ValueError(f"boxes for images of {self.image_size} do not fit {tuple(x.shape)}")
        rows, columns = (inside.to(x.dtype) for inside in self._inside())
        if x.ndim == 4 and x.shape[1] > 1 and x.is_contiguous(memory_format=torch.channels_last):
            # As lines of pixels with their channels: anything else is several times as slow in this layout.
            lines = x.permute(0, 2, 3, 1).flatten(2)
            first = self._first(rows, columns.repeat_interleave(x.shape[1], 1))
            return _chosen(lines, self.partner, first).unflatten(2, (-1, x.shape[1])).permute(0, 3, 1, 2)
        first = self._first(rows, columns)
        return _chosen(x, self.partner, first.reshape(len(x), *[1] * (x.ndim - 3), *self.image_size))

    def _inside(self) -> tuple[Tensor, Tensor]:
        """(B, H) and (B, W) float: 1 for the rows and the columns of pixels that the box lies in, 0 for others."""
        top, left, bottom, right = self.box[:, :, None].unbind(1)
        rows, columns = (torch.arange(size, device=self.box.device) for size in self.image_size)
        return ((rows >= top) & (rows < bottom)).float(), ((columns >= left) & (columns < right)).float()

    def _first(self, rows: Tensor, columns: Tensor) -> Tensor:
        """(B, H, n) 1 where the first sample stays, 0 elsewhere. rows: (B, H); columns: (B, n), as above."""
        own = self.own[:, None].to(rows)
        return (rows * (2 * own - 1))[:, :, None] * columns[:, None, :] + (1 - own)[:, :, None]


def _chosen(x: Tensor, partner: Tensor, first: Tensor) -> Tensor:
    """A choice between two as a blend with weights of 0 and 1: exact where all is finite, and faster than `where`."""
    blend = torch.lerp(x[partner], x, first)
    return blend if surely_finite(blend) else torch.where(first == 1, x, x[partner])


def paste(lam: Tensor, partner: Tensor, centre: Tensor, image_size: tuple[int, int]) -> Regions:
    """Boxes of the partner with the area 1 − λ and the image's form, around any centre. What leaves the image is cut
    off, so that more than λ may be left of the first sample.

    lam, partner: (B,); centre: (2, B) in [0, 1), of the height and of the width.
    """
    return _regions(1 - lam, torch.zeros_like(lam, dtype=torch.bool), partner, centre, image_size)


def paste_smaller(lam: Tensor, partner: Tensor, centre: Tensor, image_size: tuple[int, int]) -> Regions:
    """The same, but the box is always of the side with the smaller share: what is cut off is then its loss, and a side
    that is to have hardly any share has no more. Arguments as above."""
    return _regions(torch.minimum(lam, 1 - lam), lam < 0.5, partner, centre, image_size)


def _regions(area: Tensor, own: Tensor, partner: Tensor, centre: Tensor, image_size: tuple[int, int]) -> Regions:
    """area: (B,) share of the image that the box would have, if nothing left it."""
    side, (height, width) = area.clamp(min=0).sqrt(), image_size
    top, bottom = _ends(centre[0], side, height)
    left, right = _ends(centre[1], side, width)
    inside = (bottom - top) * (right - left)
    lam = torch.where(own, inside, height * width - inside) / (height * width)
    return Regions(lam, partner, torch.stack([top, left, bottom, right], 1), own, image_size)


def _ends(centre: Tensor, side: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """(B,) the first pixel of one dimension that lies in the box, and the first after it. centre, side: (B,) shares of
    the size."""
    middle, length = (centre * size).floor(), (side * size).floor()
    low = middle - (length / 2).floor()
    return low.clamp(min=0), (low + length).clamp(max=size)
