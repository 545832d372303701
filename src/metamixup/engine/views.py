"""Views of an image whose predictions are averaged at the test: the cheapest of ensembles. Reported beside the error
on the images as they are, never in its place."""

from collections.abc import Iterator
from typing import Literal

import torch.nn.functional as F
from torch import Tensor

Views = Literal["plain", "flip", "shift", "flip+shift"]
OWN = 0.5  # the weight of the image where it is; the shifted ones share the rest


def views(images: Tensor, kind: Views) -> Iterator[tuple[float, Tensor]]:
    """(B, C, H, W) → weights that sum to 1 and views: the images, moved by a pixel to both sides of the diagonal with
    reflection at the border (`shift`), each also mirrored (`flip`)."""
    places = [(1.0, images)]
    if "shift" in kind:
        height, width = images.shape[2:]
        padded = F.pad(images, (1, 1, 1, 1), mode="reflect")
        moved = padded[:, :, :height, :width], padded[:, :, 2:, 2:]
        places = [(OWN, images), *(((1 - OWN) / 2, view) for view in moved)]
    for weight, view in places:
        if "flip" in kind:
            yield weight / 2, view
            yield weight / 2, view.flip(3)
        else:
            yield weight, view
