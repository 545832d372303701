"""A first layer that need not be learned: it turns neighbouring pixels, which say nearly the same, into channels that
are not correlated and have equal variance (Page 2019)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RIDGE = 5e-4  # keeps the components of least variance from becoming noise
SEEN = 5000  # images whose patches a whitening layer sees
CHUNK = 500  # images whose patches are in memory at once


class Whitening(nn.Conv2d):
    """The leading principal components of patches, each with both signs, so that an activation loses neither.

    Its filters stand still: they are random until `fit` has seen images, and are kept with the model's weights.
    """

    def __init__(self, in_channels: int, components: int, patch: int):
        if components > in_channels * patch**2:
            raise ValueError(f"patches of {in_channels}×{patch}×{patch} have fewer than {components} components")
        super().__init__(in_channels, 2 * components, patch, bias=False)
        self.requires_grad_(False)

    @torch.no_grad()
    def fit(self, images: Tensor) -> None:
        """images: (N, C, H, W), normalised as they will be in training."""
        size = self.weight[0].numel()
        outer, count = torch.zeros(size, size, dtype=torch.float64), 0
        for part in images.split(CHUNK):
            patches = F.unfold(part, self.kernel_size).transpose(0, 1).reshape(size, -1)
            outer += (patches @ patches.T).double()
            count += patches.shape[1]
        variances, directions = torch.linalg.eigh(outer / count)
        filters = (directions / (variances.clamp(min=0) + RIDGE).sqrt()).T.flip(0)[: len(self.weight) // 2]
        self.weight.copy_(torch.cat([filters, -filters]).view(self.weight.shape))


def whiten_patches(model: nn.Module, images: Tensor, normalise: Callable[[Tensor], Tensor]) -> None:
    """A network's whitening layers look at images once, evenly spread; labels play no part. images: (N, C, H, W)."""
    for layer in model.modules():
        if isinstance(layer, Whitening):
            seen = torch.linspace(0, len(images) - 1, min(len(images), SEEN)).long()
            layer.fit(normalise(images[seen]))
