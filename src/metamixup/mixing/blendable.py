"""Does a loss take blended targets? λ reaches it through the inputs *and* the targets, so it must be smooth in both."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from metamixup.errors import UserError
from metamixup.mixing.targets import soft_cross_entropy

LossFunction = Callable[[Any, Tensor], Tensor]


def is_cross_entropy(loss: LossFunction) -> bool:
    """In any of the forms that torch has: weighted, with smoothed labels, with its options bound."""
    while isinstance(loss, partial):
        loss = loss.func
    return loss is soft_cross_entropy or loss is cross_entropy or isinstance(loss, nn.CrossEntropyLoss)


@torch.enable_grad()
def require_blendable(loss: LossFunction, outputs: Any, targets: Tensor) -> None:
    """Raises where blending has no meaning: indices as targets, thresholds, an argmax, losses that are not reduced."""
    name = getattr(loss, "__name__", type(loss).__name__)
    try:
        targets = targets.detach().requires_grad_()
        value = loss(outputs, targets)
        slope = _slope(value, targets) if value.ndim == 0 else targets
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise UserError(
            f"the loss {name} does not take blended targets ({_first_line(error)}); it must accept "
            f"floating targets {tuple(targets.shape)}, as cross_entropy, mse_loss and the like do"
        ) from error
    if value.ndim:
        raise UserError(f"the loss {name} gives {tuple(value.shape)}, not one number: reduce it, as by .mean()")
    if slope is None:
        raise UserError(
            f"the loss {name} does not depend smoothly on its targets (a threshold or an argmax?), so a blended target "
            "has no meaning for it and λ no gradient"
        )


def _slope(value: Tensor, targets: Tensor) -> Tensor | None:
    if not value.requires_grad:
        return None
    return torch.autograd.grad(value, targets, retain_graph=True, allow_unused=True)[0]


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
