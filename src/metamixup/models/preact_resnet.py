"""Pre-activation ResNets for small images (He et al. 2016): 18 and 34 layers as in Table I, the narrow CIFAR family of
6n + 2 layers, one of 8 for quick runs, and one of 8 that fits images of any size, for users' own."""

from torch import nn

from metamixup.models.preact_block import PreActBlock
from metamixup.models.staged import Staged, global_average, initialise


def preact_resnet(blocks: list[int], width: int, num_classes: int, in_channels: int, stride: int = 1) -> Staged:
    """`blocks` a group; the width doubles and the resolution halves from group to group. `stride` is the stem's: at 2
    every layer has a quarter of the pixels. From 4 on, its kernels overlap by half."""
    kernel = 3 if stride <= 2 else 2 * stride - 1
    stem = nn.Conv2d(in_channels, width, kernel, stride, padding=kernel // 2, bias=False)
    stages: dict[str, nn.Module] = {"stem": stem}
    channels = width
    for group, count in enumerate(blocks):
        out = width * 2**group
        first = PreActBlock(channels, out, 1 if group == 0 else 2)
        stages[f"layer{group + 1}"] = nn.Sequential(first, *[PreActBlock(out, out) for _ in range(count - 1)])
        channels = out
    stages["pool"] = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), *global_average())
    model = Staged(stages, channels, num_classes, mixable=("layer1", "layer2"))
    initialise(model.stages)
    return model


def tiny_preact_resnet(num_classes: int, in_channels: int) -> Staged:
    """Eight layers for hundreds of runs on two cores: the stem and all three blocks halve the resolution."""
    stages: dict[str, nn.Module] = {
        "stem": nn.Conv2d(in_channels, 8, 3, 2, padding=1, bias=False),
        "layer1": PreActBlock(8, 16, 2),
        "layer2": PreActBlock(16, 32, 2),
        "layer3": PreActBlock(32, 64, 2),
        "pool": nn.Sequential(nn.BatchNorm2d(64), nn.ReLU(), *global_average()),
    }
    model = Staged(stages, 64, num_classes, mixable=("layer1", "layer2"))
    initialise(model.stages)
    return model


def photo_resnet(num_classes: int, in_channels: int, image_size: tuple[int, int]) -> Staged:
    """Eight layers of 32, 64 and 128 channels. The stem's stride leaves 11 to 25 pixels of the shorter side of images
    from 22 to 200, so that an image costs about the same whatever its size."""
    stride = next((stride for stride in (1, 2, 4) if min(image_size) / stride < 22), 8)
    return preact_resnet([1, 1, 1], 32, num_classes, in_channels, stride)
