"""Labels as distributions over the classes, and the cross entropy with them."""

import torch
import torch.nn.functional as F
from torch import Tensor

from metamixup.errors import UserError

ROUNDING = 0.02  # by which a row of bfloat16 may miss 1


def soft_labels(y: Tensor, num_classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """(B,) class indices or (B, C) distributions → (B, C) distributions."""
    if y.is_floating_point():
        if y.ndim != 2 or y.shape[1] != num_classes:
            hint = ": make classes whole numbers by y.long()" if y.ndim == 1 else ""
            raise UserError(f"soft labels are (B, {num_classes}), not {tuple(y.shape)}{hint}")
        _require_distributions(y)
        return y.to(dtype)
    if y.ndim != 1:
        raise UserError(f"labels are (B,) classes or (B, {num_classes}) floats, not {tuple(y.shape)} of {y.dtype}")
    if y.numel() and not (int(y.min()) >= 0 and int(y.max()) < num_classes):
        hint = ": leave out the samples with -100, since a sample without a label has no blend" if -100 in y else ""
        raise UserError(f"labels lie in {int(y.min())}…{int(y.max())}, outside 0…{num_classes - 1}{hint}")
    return F.one_hot(y.long(), num_classes).to(dtype)


def _require_distributions(y: Tensor) -> None:
    """NaN fails both comparisons."""
    proper = (y >= 0).all(1) & ((y.float().sum(1) - 1).abs() < ROUNDING)
    if not bool(proper.all()):
        row = int((~proper).nonzero()[0])
        raise UserError(
            f"soft labels are at least 0 and add up to 1; row {row} of {len(y)} adds up to {float(y[row].sum()):.4g}. "
            "For several labels a sample give num_classes=None and a loss such as binary_cross_entropy_with_logits"
        )


def smoothed(labels: Tensor, share: float) -> Tensor:
    """The same (B, C) distributions with that share of each spread over all classes."""
    return labels.lerp(torch.full_like(labels, 1 / labels.shape[1]), share) if share else labels


def soft_cross_entropy(
    logits: Tensor, targets: Tensor, reduction: str = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """−Σ_c y_c log softmax(z)_c. logits, targets: (B, C)."""
    if logits.shape != targets.shape:
        raise UserError(
            f"the model gives {tuple(logits.shape)} and the labels are {tuple(targets.shape)}: "
            + _way_out(logits, targets)
        )
    return F.cross_entropy(logits, targets.to(logits.dtype), reduction=reduction, label_smoothing=label_smoothing)


def _way_out(logits: Tensor, targets: Tensor) -> str:
    if targets.shape[1:] == (2,) and logits.shape[1:] in ((), (1,)):
        return (
            "one logit for two classes takes num_classes=None, loss=binary_cross_entropy_with_logits and "
            "y.float()[:, None]; or give the model two outputs"
        )
    return "num_classes has to be the number of the model's outputs, and logits come first in a tuple of outputs"


def sharpen(p: Tensor, temperature: float) -> Tensor:
    """p^(1/T) renormalised: MixMatch's guess of low entropy. p: (B, C)."""
    powered = p ** (1 / temperature)
    return powered / powered.sum(1, keepdim=True)
