"""Predictions of a model on whole sets of images, and their scores: top-1 and top-5 error, negative log-likelihood and
expected calibration error."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from metamixup import world
from metamixup.engine.runtime import Runtime
from metamixup.engine.views import Views, views

BINS = 15  # of the calibration error
Batches = Callable[[int, int], Iterator[tuple[Tensor, Tensor]]]


@dataclass(frozen=True)
class EvaluationSet:
    """Images to be scored: `batches(rank, world)` gives the (x, y) of one process, unaugmented. Those of all of them,
    one after the other, are the batches of a single one."""

    name: str
    batches: Batches
    views: Views = "plain"


@torch.no_grad()
def predict(model: nn.Module, images: EvaluationSet, runtime: Runtime, kind: Views = "plain") -> tuple[Tensor, Tensor]:
    """Logits (N, C), of all views their mean, and labels (N,), with the model in evaluation mode; its mode is put
    back."""
    mode = model.training
    model.eval()
    try:
        batches = images.batches(runtime.rank, runtime.world)
        parts = [(_logits(model, x, runtime, kind), y) for x, y in batches]
    finally:
        model.train(mode)
    if not parts:  # more processes than batches
        parts = [(torch.zeros(0, 0), torch.zeros(0, dtype=torch.int64))]
    return world.gathered(torch.cat([z for z, _ in parts])), world.gathered(torch.cat([y for _, y in parts]))


def _logits(model: nn.Module, images: Tensor, runtime: Runtime, kind: Views) -> Tensor:
    if kind == "plain":
        return model(runtime.to_device(images)).float().cpu()
    parts = [weight * model(runtime.to_device(view)).float().cpu() for weight, view in views(images, kind)]
    return torch.stack(parts).sum(0)


def evaluate(model: nn.Module, images: EvaluationSet, runtime: Runtime) -> dict[str, float]:
    """Scores of the images as they are; `error_views` beside them where the set asks for several views."""
    found = scores(*predict(model, images, runtime))
    if images.views == "plain":
        return found
    return {**found, "error_views": scores(*predict(model, images, runtime, images.views))["error"]}


def scores(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """Errors and ECE in percent, NLL in nats. logits: (N, C); labels: (N,)."""
    logits = logits.double()
    top = logits.topk(min(5, logits.shape[1]), dim=1).indices == labels[:, None]
    return {
        "error": 100 * (1 - float(top[:, 0].double().mean())),
        "error_top5": 100 * (1 - float(top.any(1).double().mean())),
        "nll": float(F.cross_entropy(logits, labels)),
        "ece": 100 * calibration_error(logits.softmax(1), labels),
    }


def calibration_error(probabilities: Tensor, labels: Tensor, bins: int = BINS) -> float:
    """Σ_b |B_b|/N · |accuracy(B_b) − confidence(B_b)| over equal bins ((b−1)/n, b/n] of the confidence (Guo et al.).

    probabilities: (N, C); labels: (N,).
    """
    _, confidence, correct = calibration_bins(probabilities, labels, bins)
    return float((correct - confidence).abs().sum() / len(labels))


def calibration_bins(probabilities: Tensor, labels: Tensor, bins: int = BINS) -> Tensor:
    """(3, bins): how many predictions a bin holds, the sum of their confidence, and how many are correct."""
    confidence, predicted = probabilities.max(1)
    edges = torch.linspace(0, 1, bins + 1, dtype=confidence.dtype, device=confidence.device)[1:-1]
    values = torch.stack([torch.ones_like(confidence), confidence, (predicted == labels).to(confidence.dtype)])
    return values.new_zeros(3, bins).index_add_(1, torch.bucketize(confidence, edges), values)
