"""Models by name: `cnn3`, `preact-resnet18`, `wrn-28-10` and any `wrn-D-K`, a user's `package.module:function`, or
trained weights as `hf:NAME` and `timm:NAME`."""

import re
from collections.abc import Callable, Iterable

import torch
from torch import nn

from metamixup.errors import UserError, unknown
from metamixup.models.cnn import cnn2d, cnn3, cnn_bn, mlp
from metamixup.models.fast import fast
from metamixup.models.own import own_model
from metamixup.models.preact_block import PLAIN
from metamixup.models.preact_resnet import photo_resnet, preact_resnet, tiny_preact_resnet
from metamixup.models.resnet50 import resnet50
from metamixup.models.wide_resnet import PROTOCOL, wide_resnet
from metamixup.models.zoo import is_trained, trained
from metamixup.network import find_classifier

Builder = Callable[[int, int, tuple[int, int]], nn.Module]

MODELS: dict[str, Builder] = {
    "cnn3": cnn3,
    "cnn2d": cnn2d,
    "cnn-bn": cnn_bn,
    "mlp": mlp,
    "photo-resnet8": photo_resnet,
    "fast-s": lambda classes, channels, size: fast((32, 64, 64), classes, channels, size),
    "fast-m": lambda classes, channels, size: fast((64, 128, 128), classes, channels, size),
    "fast-l": lambda classes, channels, size: fast((64, 256, 256), classes, channels, size),
    "preact-resnet8-tiny": lambda classes, channels, _: tiny_preact_resnet(classes, channels),
    "preact-resnet8": lambda classes, channels, _: preact_resnet([1, 1, 1], 16, classes, channels),
    "preact-resnet8-half": lambda classes, channels, _: preact_resnet([1, 1, 1], 16, classes, channels, stride=2),
    "preact-resnet20": lambda classes, channels, _: preact_resnet([3, 3, 3], 16, classes, channels),
    "preact-resnet18": lambda classes, channels, _: preact_resnet([2, 2, 2, 2], 64, classes, channels),
    "preact-resnet34": lambda classes, channels, _: preact_resnet([3, 4, 6, 3], 64, classes, channels),
    "resnet50": lambda classes, channels, _: resnet50(classes, channels),
    # The semi-supervised tables' model has the form of their protocol; `wrn-28-2-plain` is the original.
    "wrn-28-2": lambda classes, channels, _: wide_resnet(28, 2, PROTOCOL, classes, channels),
    "wrn-28-10": lambda classes, channels, _: wide_resnet(28, 10, PLAIN, classes, channels),
}
WIDE = re.compile(r"wrn-(\d{1,4})-(\d{1,3})(?:-(plain|leaky))?")


def known_models() -> list[str]:
    """The models that have a name; `wrn-D-K`, `wrn-D-K-leaky` and `package.module:function` work besides."""
    return list(MODELS)


def build(name: str, num_classes: int, in_channels: int, image_size: int | tuple[int, int]) -> nn.Module:
    """A model with fresh weights from torch's global generator, in training mode."""
    size = (image_size, image_size) if isinstance(image_size, int) else image_size
    model = _made(name, num_classes, in_channels, size)
    if sum(isinstance(module, nn.Linear) for module in model.modules()) > 1:
        find_classifier(model, lambda net: net(torch.zeros(2, in_channels, *size)))  # known from here on
    return model


def _made(name: str, num_classes: int, in_channels: int, size: tuple[int, int]) -> nn.Module:
    if is_trained(name):
        return trained(name, num_classes, in_channels, size)
    if ":" in name:
        return own_model(name, num_classes=num_classes, in_channels=in_channels, image_size=size)
    if name in MODELS:
        return MODELS[name](num_classes, in_channels, size)
    wide = WIDE.fullmatch(name)
    if wide is None:
        raise unknown("model", name, [*MODELS, "wrn-D-K", "hf:NAME", "timm:NAME", "package.module:function"])
    form = PROTOCOL if wide[3] == "leaky" else PLAIN
    try:
        return wide_resnet(int(wide[1]), int(wide[2]), form, num_classes, in_channels)
    except ValueError as error:
        raise UserError(f"model {name!r}: {error}") from error


def check(
    name: str,
    num_classes: int,
    in_channels: int,
    image_size: int | tuple[int, int],
    also: Iterable[tuple[int, int]] = (),
) -> None:
    """Refuse a model that does not fit the data, before a run begins. Named models cost nothing: no memory is used.

    also: other sizes that the images will have in training.
    """
    size = (image_size, image_size) if isinstance(image_size, int) else image_size
    with torch.random.fork_rng(devices=[]), torch.device("cpu" if ":" in name else "meta"), torch.no_grad():
        model = None
        for height, width in (size, *also):
            try:
                model = model or build(name, num_classes, in_channels, size)
                shape = tuple(model(torch.zeros(2, in_channels, height, width)).shape)
            except (RuntimeError, ValueError) as error:
                image = f"{in_channels}×{height}×{width}"
                raise UserError(f"model {name!r} does not fit images of {image}: {error}") from error
            if shape != (2, num_classes):
                raise UserError(f"model {name!r} answers two images with shape {shape}, not (2, {num_classes}) logits")
