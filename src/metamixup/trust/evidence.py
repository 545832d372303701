"""What the meta set says about each label: the meta-gradient in the weight of a sample, without any backward pass
through the network.

Only the classifier takes the virtual step, as in `head`, and only the labels are asked about, not the images. Then the
gain of trusting sample i is closed: (p_i − y_i)·(h_i − h̄)G with G = Σ (h_m − h̄)ᵀ(p_m − y_m)/m over the meta batch.
Features are centred, since the mean feature moves every logit alike and drowns the rest. Two forward passes without a
graph are the whole cost.

Not here: what becomes of it. That is `policy.trust`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.errors import UserError
from metamixup.meta.classifier import classifier_of
from metamixup.meta.estimator import MetaLoss, TrainLoss
from metamixup.meta.lookahead import leaving_no_trace, network


@dataclass(frozen=True)
class Seen:
    """What went through the classifier. h: (B, F) features; p: (B, C) softmax; delta: (B, C) p − y."""

    h: Tensor
    p: Tensor
    delta: Tensor

    @property
    def loss(self) -> Tensor:
        """(B,) the cross entropy of each sample; its label is what delta leaves of p."""
        return -((self.p - self.delta) * self.p.clamp_min(1e-12).log()).sum(1)


class Evidence:
    """Rows of (∂L_meta/∂w_i, ℓ_i) for the batch and then for the meta batch, (B + M, 2): low is to be trusted.

    A meta image is never its own witness: rows at even places are judged by the odd half of the meta batch and the odd
    ones by the even half, and so are the rows of the batch, so that both have the same noise.
    """

    def __init__(self, classifier: str | None = None):
        self.classifier = classifier

    def __call__(
        self, model: nn.Module, loss: TrainLoss, meta_loss: MetaLoss, lam: Tensor, eta: Mapping[str, float]
    ) -> Tensor:
        name = self.classifier or classifier_of(model, meta_loss)
        layer, net = model.get_submodule(name), network(model, {})
        with leaving_no_trace(model):
            batch = _seen(layer, lambda: loss(net, lam))
            meta = _seen(layer, lambda: meta_loss(net))
        directions = _directions(meta)
        return torch.cat([torch.stack([-_gains(rows, directions), rows.loss], 1) for rows in (batch, meta)])


def _seen(layer: nn.Module, forward: Callable[[], Tensor]) -> Seen:
    calls: list[tuple[Tensor, Tensor]] = []

    def cut(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """The graph begins at the logits."""
        calls.append((inputs[0].detach().float(), output.detach().requires_grad_()))
        return calls[-1][1]

    with layer.register_forward_hook(cut):
        value = forward()
    if len(calls) != 1 or calls[0][1].ndim != 2:
        raise UserError(
            "policy 'trust' needs a model and method that classify the batch once, (B, F) → (B, C); "
            "use policy 'learned' or 'persistent' here"
        )
    h, logits = calls[0]
    (delta,) = torch.autograd.grad(value, logits)
    return Seen(h, torch.softmax(logits.detach().float(), 1), len(h) * delta.float())


def _directions(meta: Seen) -> list[Tensor]:
    """G of the odd half of the meta batch and of the even one, (F, C) each."""
    towards = meta.h - world.mean(meta.h.mean(0))
    halves = [(towards[1 - half :: 2], meta.delta[1 - half :: 2]) for half in (0, 1)]
    return [world.mean(h.T @ witnesses / max(len(witnesses), 1)) for h, witnesses in halves]


def _gains(rows: Seen, directions: list[Tensor]) -> Tensor:
    """(B,) how much trusting each sample lowers the meta loss, to first order and up to a common factor."""
    judged = rows.h - world.mean(rows.h.mean(0))
    gains = torch.empty(len(rows.h), device=rows.h.device)
    for half, gradient in enumerate(directions):
        gains[half::2] = (rows.delta[half::2] * (judged[half::2] @ gradient)).sum(1)
    return gains
