"""Images that grow during training: early on a network learns as much from small ones, at a fraction of the cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Growth:
    """The heights that images have in equal parts of a run of `steps`; none: images stay as they are."""

    sizes: tuple[int, ...] = ()
    steps: int = 1

    def __call__(self, images: Tensor, step: int) -> Tensor:
        """(B, C, H, W) floating → the size of that step, width in proportion."""
        if not self.sizes:
            return images
        height = self.sizes[min(len(self.sizes) - 1, len(self.sizes) * step // self.steps)]
        if height == images.shape[2]:
            return images
        return F.interpolate(images, sized(images.shape[2:], height), mode="bilinear", antialias=True)


def sized(size: Sequence[int], height: int) -> tuple[int, int]:
    """An image's (H, W) at another height."""
    return height, max(1, round(size[1] * height / size[0]))
