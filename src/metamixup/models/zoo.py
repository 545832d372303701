"""Networks with trained weights, named in one word: `hf:NAME` or `hf:FOLDER` (an image classifier of transformers) and
`timm:NAME`. The head is new; the images are brought to the size and number of channels that the network was trained on.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from metamixup.errors import UserError
from metamixup.network import find_classifier

SMALLEST = 224  # the size that networks of any size were trained on, mostly


class Trained(nn.Module):
    """`body` answers (B, channels, H, W) with logits, or with an object that has them. `side`: of the square images
    that it takes, or None where any size serves."""

    def __init__(self, body: nn.Module, channels: int, side: int | None):
        super().__init__()
        self.body, self.channels, self.side = body, channels, side

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] == 1 < self.channels:
            x = x.expand(-1, self.channels, -1, -1)
        if self.side is not None and x.shape[2:] != (self.side, self.side):
            x = F.interpolate(x, (self.side, self.side), mode="bilinear", antialias=x.device.type != "meta")
        found = self.body(x)
        return found if isinstance(found, Tensor) else found.logits


def is_trained(name: str) -> bool:
    """Does the name stand for trained weights? Such weights are data: no code comes with them."""
    return name.partition(":")[0] in LIBRARIES


def trained(name: str, num_classes: int, in_channels: int, image_size: tuple[int, int]) -> nn.Module:
    """The network with its trained weights and a new head, drawn from torch's global generator."""
    library, _, which = name.partition(":")
    try:
        model = LIBRARIES[library](which, num_classes)
    except ImportError as missing:
        raise UserError(f"model {name!r} needs {PACKAGES[library]}: pip install {PACKAGES[library]}") from missing
    except Exception as problem:  # network, file, name: the libraries have an error of their own for each
        raise UserError(f"model {name!r} cannot be loaded: {str(problem).strip()[:300]}") from problem
    if model.channels != in_channels and in_channels != 1:
        raise UserError(f"model {name!r} takes images with {model.channels} channels, not {in_channels}")
    renew_head(model, torch.zeros(2, in_channels, *image_size))
    return model.train()


def _transformers(which: str, num_classes: int) -> Trained:
    from transformers import AutoModelForImageClassification
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()  # it warns of the new head, which is what was asked for
    body = AutoModelForImageClassification.from_pretrained(
        which, num_labels=num_classes, ignore_mismatched_sizes=True, use_safetensors=True
    )
    size = getattr(body.config, "image_size", None)
    return Trained(body, getattr(body.config, "num_channels", 3), size if isinstance(size, int) else None)


def _timm(which: str, num_classes: int) -> Trained:
    import timm

    body = timm.create_model(which, pretrained=True, num_classes=num_classes)
    channels, *size = body.pretrained_cfg.get("input_size", (3, SMALLEST, SMALLEST))
    return Trained(body, channels, size[0] if body.pretrained_cfg.get("fixed_input_size") else None)


LIBRARIES: dict[str, Callable[[str, int], Trained]] = {"hf": _transformers, "timm": _timm}
PACKAGES = {"hf": "transformers", "timm": "timm"}


def renew_head(model: nn.Module, images: Tensor) -> None:
    """The last linear layer starts afresh, though its shape may fit: it was trained for other classes."""
    head = find_classifier(model, lambda net: net(images))
    if head is None:
        return
    layer: Any = model.get_submodule(head)
    nn.init.normal_(layer.weight, std=0.02)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
