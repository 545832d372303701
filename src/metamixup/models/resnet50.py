"""ResNet-50 in its form for small images: a 3×3 stem without pooling (the loss and λ figures of the paper)."""

import torch.nn.functional as F
from torch import Tensor, nn

from metamixup.models.staged import Staged, global_average, initialise


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 to four times the width, each with BatchNorm; activation after the sum."""

    def __init__(self, channels_in: int, width: int, stride: int):
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(channels_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels_in, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        return F.relu(self.bn3(self.conv3(out)) + self.shortcut(x))


def resnet50(num_classes: int, in_channels: int) -> Staged:
    stem = nn.Sequential(nn.Conv2d(in_channels, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU())
    stages: dict[str, nn.Module] = {"stem": stem}
    channels = 64
    for group, count in enumerate((3, 4, 6, 3)):
        width = 64 * 2**group
        first = Bottleneck(channels, width, 1 if group == 0 else 2)
        stages[f"layer{group + 1}"] = nn.Sequential(first, *[Bottleneck(4 * width, width, 1) for _ in range(count - 1)])
        channels = 4 * width
    model = Staged({**stages, "pool": global_average()}, channels, num_classes, mixable=("layer1", "layer2"))
    initialise(model.stages)
    return model
