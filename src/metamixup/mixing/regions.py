"""Blends of images by regions: a box of the partner is pasted in, so that every pixel is of one of the two."""

from dataclasses import dataclass

import torch
from torch import Tensor

from metamixup.mixing.mix import Mixture


@dataclass(frozen=True)
class Regions(Mixture):
    """keep: (B, H, W) bool, where the first sample stays; lam is exactly its share of the area."""

    keep: Tensor

    def inputs(self, x: Tensor) -> Tensor:
        """x: (B, …, H, W) with the height and width of `keep`."""
        if x.shape[-2:] != self.keep.shape[-2:]:
            raise ValueError(f"boxes for images of {tuple(self.keep.shape[-2:])} do not fit {tuple(x.shape)}")
        keep = self.keep.reshape(len(x), *[1] * (x.ndim - 3), *x.shape[-2:])
        return torch.where(keep, x, x[self.partner])


def paste(lam: Tensor, partner: Tensor, centre: Tensor, image_size: tuple[int, int]) -> Regions:
    """Boxes of the partner with the area 1 − λ and the image's form, around any centre. What leaves the image is cut
    off, so that more than λ may be left of the first sample.

    lam, partner: (B,); centre: (2, B) in [0, 1), of the height and of the width.
    """
    return _regions(~_boxes(1 - lam, centre, image_size), partner, lam)


def paste_smaller(lam: Tensor, partner: Tensor, centre: Tensor, image_size: tuple[int, int]) -> Regions:
    """The same, but the box is always of the side with the smaller share: what is cut off is then its loss, and a side
    that is to have hardly any share has no more. Arguments as above."""
    boxes = _boxes(torch.minimum(lam, 1 - lam), centre, image_size)
    return _regions(torch.where((lam < 0.5)[:, None, None], boxes, ~boxes), partner, lam)


def _regions(keep: Tensor, partner: Tensor, lam: Tensor) -> Regions:
    return Regions(keep.to(lam.dtype).mean((1, 2)), partner, keep)


def _boxes(area: Tensor, centre: Tensor, image_size: tuple[int, int]) -> Tensor:
    """(B, H, W) bool. area: (B,) shares of the image."""
    side = area.clamp(min=0).sqrt()
    rows, columns = (_inside(place, side, size) for place, size in zip(centre.unbind(), image_size, strict=True))
    return rows[:, :, None] & columns[:, None, :]


def _inside(centre: Tensor, side: Tensor, size: int) -> Tensor:
    """(B, size) bool: the pixels of one dimension that lie in the box. centre, side: (B,) shares of the size."""
    middle, length = (centre * size).floor(), (side * size).floor()
    low = middle - (length / 2).floor()
    pixels = torch.arange(size, device=centre.device)
    return (pixels >= low[:, None]) & (pixels < (low + length)[:, None])
