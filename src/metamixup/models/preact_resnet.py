"""Pre-activation ResNets for small images (He et al. 2016): 18 and 34 layers as in Table I, and the narrow CIFAR
family of 6n + 2 layers and one of 6 for quick runs."""

from torch import nn

from metamixup.models.preact_block import PreActBlock
from metamixup.models.staged import Staged, global_average, initialise


def preact_resnet(blocks: list[int], width: int, num_classes: int, in_channels: int, stride: int = 1) -> Staged:
    """`blocks` a group; the width doubles and the resolution halves from group to group. `stride` is the stem's: at 2
    every layer has a quarter of the pixels."""
    stages: dict[str, nn.Module] = {"stem": nn.Conv2d(in_channels, width, 3, stride, padding=1, bias=False)}
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
