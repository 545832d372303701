"""What the network and the meta set say about each label, without any backward pass through the network: its own
prediction, and the meta-gradient in the weight of a sample.

Only the classifier takes the virtual step, as in `head`, and only the labels are asked about, not the images. Then the
gain of training on sample i is closed: (p_i − y_i)·(h_i − h̄)G with G = Σ (h_m − h̄)ᵀ(p_m − y_m)/m over the meta batch.
Features are centred, since the mean feature moves every logit alike and drowns the rest. Two forward passes without a
graph are the whole cost; without a meta set there is no gain, and one pass is enough. Nor is there any gain where the
network does not end in a linear layer: then its logits alone speak.
"""

import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.errors import UserError
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.mixing import Mixture
from metamixup.network import Net, find_classifier, leaving_no_trace, logits_of, network

CLASSIFIES_OTHERWISE = (
    "policy 'trust' needs a model and method that classify the batch once, (B, F) → (B, C); use policy 'learned' or "
    "'persistent' here"
)


@dataclass(frozen=True)
class Evidence:
    """For and against labels. gain: (n,) how much training on a sample lowers the meta loss, to first order and up to a
    common factor; log_p: (n, C) the network's prediction for it."""

    gain: Tensor
    log_p: Tensor

    def losses(self, labels: Tensor) -> Tensor:
        """(n,) the cross entropy of each sample. labels: (n, C)."""
        return -(labels.to(self.log_p) * self.log_p).sum(1)

    def __neg__(self) -> "Evidence":
        return Evidence(-self.gain, (-self.log_p).log_softmax(1))


@dataclass(frozen=True)
class Pass:
    """What the classifier saw in a forward pass. h: (B, F) features; log_p: (B, C); delta: (B, C) p − y."""

    h: Tensor
    log_p: Tensor
    delta: Tensor


def find_evidence(
    model: nn.Module, loss: Loss, meta_loss: MetaLoss | None, shown: Mixture, classes: int
) -> tuple[Evidence, Evidence | None]:
    """Of the batch, or the part of it that is shown, which is not blended, and of the meta batch, if there is one.

    A meta image never judges itself: samples at even places of the meta batch are judged by the odd ones and the other
    way round, and so are the two halves of the batch, so that both have the same noise.
    """

    def of_batch(net: Net) -> Tensor:
        return loss(net, shown)

    layer, net = _head(model, meta_loss or of_batch, classes), network(model, {})
    with leaving_no_trace(model):
        batch = None if layer is None else _forward(layer, lambda: of_batch(net), len(shown.partner))
        if layer is None or batch is None:
            return _by_logits(model, of_batch, meta_loss, len(shown.partner))
        if meta_loss is None:
            return Evidence(torch.zeros(len(batch.h), device=batch.h.device), batch.log_p), None
        meta = _forward(layer, lambda: meta_loss(net))
    if meta is None:
        raise UserError(CLASSIFIES_OTHERWISE)
    directions = _directions(meta)
    return Evidence(_gains(batch, directions), batch.log_p), Evidence(_gains(meta, directions), meta.log_p)


def _head(model: nn.Module, forward: Callable[[Net], Tensor], classes: int) -> nn.Module | None:
    """The linear layer that gives the logits, one for each class."""
    name = find_classifier(model, forward)
    layer = None if name is None else model.get_submodule(name)
    return layer if layer is not None and layer.out_features == classes else None


def _forward(layer: nn.Module, value_of: Callable[[], Tensor], rows: int | None = None) -> Pass | None:
    """None where the layer does not put out a row for each sample. rows: how many there are, where that is known."""
    calls: list[tuple[Tensor, Tensor]] = []

    def cut(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """The graph begins at the logits."""
        calls.append((inputs[0].detach().float(), output.detach().requires_grad_()))
        return calls[-1][1]

    with layer.register_forward_hook(cut):
        value = value_of()
    if not _once([logits for _, logits in calls], rows):
        return None
    h, logits = calls[0]
    (delta,) = torch.autograd.grad(value, logits)
    return Pass(h, torch.log_softmax(logits.detach().float(), 1), len(h) * delta.float())


def _once(logits: list[Tensor], rows: int | None) -> bool:
    return len(logits) == 1 and logits[0].ndim == 2 and rows in (None, len(logits[0]))


_told: weakref.WeakSet[nn.Module] = weakref.WeakSet()


def _by_logits(
    model: nn.Module, of_batch: MetaLoss, meta_loss: MetaLoss | None, rows: int
) -> tuple[Evidence, Evidence | None]:
    batch = _of_logits(model, of_batch, rows)
    if meta_loss is None:
        return batch, None
    if model not in _told:
        _told.add(model)
        warnings.warn(
            f"{type(model).__name__} does not end in a linear layer that gives its logits: labels are judged by its "
            "predictions alone, and classes that are rarer than in the meta set are not weighted up",
            stacklevel=2,
        )
    return batch, _of_logits(model, meta_loss)


@torch.no_grad()
def _of_logits(model: nn.Module, forward: MetaLoss, rows: int | None = None) -> Evidence:
    net, logits = network(model, {}), []

    def heard(*inputs: Any, **named: Any) -> Any:
        found = net(*inputs, **named)
        logits.append(logits_of(found).detach().float())
        return found

    forward(heard)
    if not _once(logits, rows):
        raise UserError(CLASSIFIES_OTHERWISE)
    return Evidence(torch.zeros(len(logits[0]), device=logits[0].device), logits[0].log_softmax(1))


def _directions(meta: Pass) -> list[Tensor]:
    """G of the odd half of the meta batch and of the even one, (F, C) each."""
    towards = meta.h - world.mean(meta.h.mean(0))
    halves = [(towards[1 - half :: 2], meta.delta[1 - half :: 2]) for half in (0, 1)]
    return [world.mean(h.T @ delta / max(len(delta), 1)) for h, delta in halves]


def _gains(rows: Pass, directions: list[Tensor]) -> Tensor:
    """(B,)"""
    centred = rows.h - world.mean(rows.h.mean(0))
    gains = rows.h.new_empty(len(rows.h))
    for half, direction in enumerate(directions):
        gains[half::2] = (rows.delta[half::2] * (centred[half::2] @ direction)).sum(1)
    return gains
