"""The pre-activation block (He et al. 2016) that PreActResNets and Wide ResNets are made of."""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Form:
    """The ReLU's slope below 0 and BatchNorm's constants."""

    slope: float = 0.0
    momentum: float = 0.1
    eps: float = 1e-5

    def norm(self, channels: int) -> nn.BatchNorm2d:
        return nn.BatchNorm2d(channels, eps=self.eps, momentum=self.momentum)

    def activate(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.slope) if self.slope else F.relu(x)


PLAIN = Form()


class PreActBlock(nn.Module):
    """BN-ReLU-conv twice, added to what the shortcut carries.

    Where the shape changes, the shortcut is a 1×1 convolution. It starts from the activated input if
    `activate_shortcut`, by default exactly where the shape changes.
    """

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        stride: int = 1,
        form: Form = PLAIN,
        activate_shortcut: bool | None = None,
    ):
        super().__init__()
        changes = stride != 1 or channels_in != channels_out
        self.form = form
        self.activate_shortcut = changes if activate_shortcut is None else activate_shortcut
        self.bn1 = form.norm(channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.bn2 = form.norm(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.shortcut = nn.Conv2d(channels_in, channels_out, 1, stride, bias=False) if changes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        active = self.form.activate(self.bn1(x))
        carried = self.shortcut(active if self.activate_shortcut else x)
        return carried + self.conv2(self.form.activate(self.bn2(self.conv1(active))))
