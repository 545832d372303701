"""Labels as distributions over the classes, and the cross entropy with them."""

import torch
import torch.nn.functional as F
from torch import Tensor


def soft_labels(y: Tensor, num_classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """(B,) class indices or (B, C) distributions → (B, C) distributions."""
    if y.is_floating_point():
        if y.ndim != 2 or y.shape[1] != num_classes:
            raise ValueError(f"soft labels are (B, {num_classes}), not {tuple(y.shape)}")
        return y.to(dtype)
    if y.numel() and not (int(y.min()) >= 0 and int(y.max()) < num_classes):
        raise ValueError(f"labels lie in {int(y.min())}…{int(y.max())}, outside 0…{num_classes - 1}")
    return F.one_hot(y.long(), num_classes).to(dtype)


def smoothed(labels: Tensor, share: float) -> Tensor:
    """The same (B, C) distributions with that share of each spread over all classes."""
    return labels.lerp(torch.full_like(labels, 1 / labels.shape[1]), share) if share else labels


def soft_cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """−Σ_c y_c log softmax(z)_c. logits, targets: (B, C)."""
    return F.cross_entropy(logits, targets.to(logits.dtype), reduction=reduction)


def sharpen(p: Tensor, temperature: float) -> Tensor:
    """p^(1/T) renormalised: MixMatch's guess of low entropy. p: (B, C)."""
    powered = p ** (1 / temperature)
    return powered / powered.sum(1, keepdim=True)
