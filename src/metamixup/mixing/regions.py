"""Blends of images by regions: a box of the partner is pasted in, so that every pixel is of one of the two."""

from dataclasses import dataclass

import torch
from torch import Tensor

from metamixup.mixing.mix import Mixture


@dataclass(frozen=True)
class Regions(Mixture):
    """keep: (B, H, W) bool, where the first sample stays; lam is exactly its share of the area; box: (B, 4) top, left,
    bottom and right of the box of either side, as shares of height and width: its area is lam or 1 − lam."""

    keep: Tensor
    box: Tensor

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
    inside, box = _boxes(1 - lam, centre, image_size)
    return Regions(_share(~inside, lam), partner, ~inside, box)


def paste_smaller(lam: Tensor, partner: Tensor, centre: Tensor, image_size: tuple[int, int]) -> Regions:
    """The same, but the box is always of the side with the smaller share: what is cut off is then its loss, and a side
    that is to have hardly any share has no more. Arguments as above."""
    inside, box = _boxes(torch.minimum(lam, 1 - lam), centre, image_size)
    keep = torch.where((lam < 0.5)[:, None, None], inside, ~inside)
    return Regions(_share(keep, lam), partner, keep, box)


def _share(keep: Tensor, like: Tensor) -> Tensor:
    return keep.to(like.dtype).mean((1, 2))


def _boxes(area: Tensor, centre: Tensor, image_size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """(B, H, W) bool, which pixels lie inside, and (B, 4) the ends. area: (B,) shares of the image."""
    side, (height, width) = area.clamp(min=0).sqrt(), image_size
    top, bottom = _ends(centre[0], side, height)
    left, right = _ends(centre[1], side, width)
    inside = _between(top, bottom, height)[:, :, None] & _between(left, right, width)[:, None, :]
    return inside, torch.stack([top / height, left / width, bottom / height, right / width], 1)


def _ends(centre: Tensor, side: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """(B,) the first pixel of one dimension that lies in the box, and the first after it. centre, side: (B,) shares of
    the size."""
    middle, length = (centre * size).floor(), (side * size).floor()
    low = middle - (length / 2).floor()
    return low.clamp(min=0), (low + length).clamp(max=size)


def _between(low: Tensor, high: Tensor, size: int) -> Tensor:
    """(B, size) bool, for pixels of one dimension. low, high: (B,)."""
    pixels = torch.arange(size, device=low.device)
    return (pixels >= low[:, None]) & (pixels < high[:, None])
