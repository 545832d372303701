"""Each model against an independent plain reference that reads the weights by its own walk."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from metamixup.models import build


class Reader:
    """Weights in the order of the state dict, so that a reference needs no names of the model's."""

    def __init__(self, model: torch.nn.Module):
        self.values = [v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")]

    def conv(self, x: Tensor, stride: int = 1, bias: bool = False) -> Tensor:
        weight = self.values.pop(0)
        padding = weight.shape[-1] // 2
        return F.conv2d(x, weight, self.values.pop(0) if bias else None, stride, padding)

    def norm(self, x: Tensor, eps: float = 1e-5) -> Tensor:
        weight, bias, mean, var = (self.values.pop(0)[None, :, None, None] for _ in range(4))
        return (x - mean) / (var + eps).sqrt() * weight + bias

    def linear(self, x: Tensor) -> Tensor:
        return x @ self.values.pop(0).T + self.values.pop(0)


def trained_a_little(name: str, channels: int = 3, size: int = 32) -> torch.nn.Module:
    """In float64, with BatchNorm statistics and scales that are not their initial ones."""
    torch.manual_seed(1)
    model = build(name, 10, channels, size).double()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias)
    return model.eval()


def preact_reference(read: Reader, x: Tensor, blocks: list[int], widths: list[int], width: int) -> Tensor:
    x = read.conv(x)
    for group, (count, out) in enumerate(zip(blocks, widths, strict=True)):
        for block in range(count):
            stride = 2 if group and block == 0 else 1
            active = read.norm(x).relu()
            hidden = read.norm(read.conv(active, stride)).relu()
            hidden = read.conv(hidden)
            x = hidden + (read.conv(active, stride) if width != out or stride != 1 else x)
            width = out
    return read.linear(read.norm(x).relu().mean((2, 3)))


def protocol_reference(read: Reader, x: Tensor, blocks: int, widths: list[int]) -> Tensor:
    def active(z: Tensor) -> Tensor:
        z = read.norm(z, 1e-3)
        return torch.where(z > 0, z, 0.1 * z)

    x, width = read.conv(x), 16
    for group, out in enumerate(widths):
        for block in range(blocks):
            stride = 2 if group and block == 0 else 1
            first = active(x)
            hidden = read.conv(active(read.conv(first, stride)))
            carried = first if (group, block) == (0, 0) else x
            x = hidden + (read.conv(carried, stride) if width != out else carried)
            width = out
    return read.linear(active(x).mean((2, 3)))


def bottleneck_reference(read: Reader, x: Tensor) -> Tensor:
    x = read.norm(read.conv(x)).relu()
    for group, count in enumerate([3, 4, 6, 3]):
        for block in range(count):
            stride = 2 if group and block == 0 else 1
            hidden = read.norm(read.conv(x)).relu()
            hidden = read.norm(read.conv(hidden, stride)).relu()
            hidden = read.norm(read.conv(hidden))
            x = (hidden + (read.norm(read.conv(x, stride)) if block == 0 else x)).relu()
    return read.linear(x.mean((2, 3)))


def cnn3_reference(read: Reader, x: Tensor) -> Tensor:
    x = F.max_pool2d(read.conv(x, bias=True).relu(), 2)
    x = read.conv(read.conv(x, bias=True).relu(), bias=True).relu()
    x = read.conv(F.max_pool2d(x, 2), bias=True).relu()
    return read.linear(read.linear(x.flatten(1)).relu())


REFERENCES = {
    "preact-resnet8": (lambda r, x: preact_reference(r, x, [1] * 3, [16, 32, 64], 16), 3, 32),
    "preact-resnet18": (lambda r, x: preact_reference(r, x, [2] * 4, [64, 128, 256, 512], 64), 3, 16),
    "preact-resnet34": (lambda r, x: preact_reference(r, x, [3, 4, 6, 3], [64, 128, 256, 512], 64), 3, 16),
    "wrn-28-2-plain": (lambda r, x: preact_reference(r, x, [4] * 3, [32, 64, 128], 16), 3, 32),
    "wrn-10-1": (lambda r, x: preact_reference(r, x, [1] * 3, [16, 32, 64], 16), 1, 28),
    "wrn-28-2": (lambda r, x: protocol_reference(r, x, 4, [32, 64, 128]), 3, 32),
    "resnet50": (bottleneck_reference, 3, 16),
    "cnn3": (cnn3_reference, 1, 28),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_forward_equals_the_reference(name):
    reference, channels, size = REFERENCES[name]
    model = trained_a_little(name, channels, size)
    x = torch.randn(2, channels, size, size, dtype=torch.float64)
    read = Reader(model)
    expected = reference(read, x)
    assert not read.values
    torch.testing.assert_close(model(x), expected)


def test_the_protocol_form_has_its_batchnorm_constants():
    for module in build("wrn-28-2", 10, 3, 32).modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            assert (module.momentum, module.eps) == (0.001, 1e-3)


def test_cnn3_has_he_weights_zero_biases_and_dropout_of_a_half():
    torch.manual_seed(0)
    model = build("cnn3", 10, 1, 28)
    hidden = model.stages.hidden
    assert hidden[1].weight.std().item() == pytest.approx((2 / 1568) ** 0.5, rel=0.02)
    assert all(p.abs().max() == 0 for name, p in model.named_parameters() if name.endswith("bias"))
    assert hidden[3].p == 0.5
