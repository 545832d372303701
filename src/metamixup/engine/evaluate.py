"""Predictions of a model on whole sets of images, and their scores."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from metamixup.engine.runtime import Runtime
from metamixup.engine.scores import scores

Batches = Callable[[], Iterator[tuple[Tensor, Tensor]]]


@dataclass(frozen=True)
class EvaluationSet:
    """Images to be scored: `batches()` gives (x, y) in a fixed order, unaugmented."""

    name: str
    batches: Batches


@torch.no_grad()
def predict(model: nn.Module, images: EvaluationSet, runtime: Runtime) -> tuple[Tensor, Tensor]:
    """Logits (N, C) and labels (N,), with the model in evaluation mode; its mode is put back."""
    mode = model.training
    model.eval()
    try:
        parts = [(model(runtime.place(x)).float().cpu(), y) for x, y in images.batches()]
    finally:
        model.train(mode)
    return torch.cat([z for z, _ in parts]), torch.cat([y for _, y in parts])


def evaluate(model: nn.Module, images: EvaluationSet, runtime: Runtime) -> dict[str, float]:
    return scores(*predict(model, images, runtime))
