"""How good predictions are: top-1 and top-5 error, negative log-likelihood and expected calibration error."""

import torch
import torch.nn.functional as F
from torch import Tensor

BINS = 15


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
