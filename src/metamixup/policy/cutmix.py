"""CutMix (Yun et al. 2019): a box of the partner is pasted in, and labels are blended by the area that is left."""

from dataclasses import dataclass

import torch
from torch import Tensor

from metamixup.mixing import Mixture, Pairs
from metamixup.policy.beta import Beta


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


class CutMix(Beta):
    """λ ~ Beta(α, α) asks for a box of the area 1 − λ around a uniform centre; what leaves the image is cut off."""

    def __init__(self, image_size: tuple[int, ...], alpha: float = 1.0, per: str = "sample"):
        super().__init__(alpha, per)
        self.image_size = image_size

    def resize(self, image_size: tuple[int, ...]) -> None:
        self.image_size = image_size

    def mixture(self, lam: Tensor, pairs: Pairs, generator: torch.Generator) -> Mixture:
        if self.per == "batch":
            centre = torch.rand(2, 1, generator=generator).expand(2, len(lam)).to(lam.device)
        else:
            centre = pairs.drawn(lambda n: torch.rand(2, n, generator=generator)).to(lam.device)
        side = (1 - lam).clamp(min=0).sqrt()
        rows, columns = (_inside(c, side, size) for c, size in zip(centre.unbind(), self.image_size, strict=True))
        keep = ~(rows[:, :, None] & columns[:, None, :])
        return Regions(keep.float().mean((1, 2)), pairs.partner, keep)


def _inside(centre: Tensor, side: Tensor, size: int) -> Tensor:
    """(B, size) bool: the pixels of one dimension that lie in the box. centre, side: (B,) shares of the size."""
    middle, length = (centre * size).floor(), (side * size).floor()
    low = middle - (length / 2).floor()
    pixels = torch.arange(size, device=centre.device)
    return (pixels >= low[:, None]) & (pixels < (low + length)[:, None])
