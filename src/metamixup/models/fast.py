"""Networks that learn fast on a CPU: shallow and wide, after airbench (Jordan 2024) and its ancestors.

Nothing before the first trained convolution has a gradient, pooling comes before the cheap layers, and all layers begin
as the identity where they can. The recipes belong to them: fast biases, a triangular rate, averaged weights.
"""

from torch import Tensor, nn

from metamixup.models.staged import Staged
from metamixup.models.whitening import Whitening

STATISTICS = 0.4  # share of a batch in BatchNorm's running statistics: short runs have no time for long averages
LOGITS = 1 / 9  # the largest features of a map are large


def fast(widths: tuple[int, int, int], num_classes: int, in_channels: int, image_size: tuple[int, int]) -> Staged:
    """Whitened patches, three blocks of two convolutions, the maximum of each feature's map."""
    # Grey pixels have less to say in 2×2 than colours have.
    patch, components = (3, 8) if in_channels < 3 else (2, 12)
    side, channels = min(image_size) - patch + 1, 2 * components
    stages: dict[str, nn.Module] = {
        "whiten": nn.Sequential(Whitening(in_channels, components, patch), nn.SiLU()),
    }
    for k, width in enumerate(widths, 1):
        stages[f"block{k}"] = block(channels, width, pool=side > 1)
        side, channels = max(1, side // 2), width
    return Staged({**stages, "pool": Largest()}, channels, num_classes, mixable=("block1", "block2"))


def block(channels_in: int, channels_out: int, pool: bool) -> nn.Sequential:
    return nn.Sequential(
        identity_convolution(channels_in, channels_out),
        nn.MaxPool2d(2) if pool else nn.Identity(),
        *normalised(channels_out),
        identity_convolution(channels_out, channels_out),
        *normalised(channels_out),
    )


def identity_convolution(channels_in: int, channels_out: int) -> nn.Conv2d:
    """The first filters hand their channels on as they are; the others are random."""
    layer = nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False)
    nn.init.dirac_(layer.weight[: min(channels_in, channels_out)].data)
    return layer


def normalised(channels: int) -> tuple[nn.Module, nn.Module]:
    """BatchNorm without a scale of its own, which the next layer's weights have anyway."""
    norm = nn.BatchNorm2d(channels, momentum=STATISTICS)
    norm.weight.requires_grad_(False)
    return norm, nn.SiLU()


class Largest(nn.Module):
    """(B, F, H, W) → (B, F), scaled so that logits begin small."""

    def forward(self, x: Tensor) -> Tensor:
        return x.amax((2, 3)) * LOGITS
