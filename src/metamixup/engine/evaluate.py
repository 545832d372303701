"""Predictions of a model on whole sets of images, and their scores."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.engine.runtime import Runtime
from metamixup.engine.scores import scores

Batches = Callable[[int, int], Iterator[tuple[Tensor, Tensor]]]


@dataclass(frozen=True)
class EvaluationSet:
    """Images to be scored: `batches(rank, world)` gives the (x, y) of one process, unaugmented. Those of all of them,
    one after the other, are the batches of a single one."""

    name: str
    batches: Batches


@torch.no_grad()
def predict(model: nn.Module, images: EvaluationSet, runtime: Runtime) -> tuple[Tensor, Tensor]:
    """Logits (N, C) and labels (N,), with the model in evaluation mode; its mode is put back."""
    mode = model.training
    model.eval()
    try:
        batches = images.batches(runtime.rank, runtime.world)
        parts = [(model(runtime.place(x)).float().cpu(), y) for x, y in batches]
    finally:
        model.train(mode)
    if not parts:  # more processes than batches
        parts = [(torch.zeros(0, 0), torch.zeros(0, dtype=torch.int64))]
    return world.gathered(torch.cat([z for z, _ in parts])), world.gathered(torch.cat([y for _, y in parts]))


def evaluate(model: nn.Module, images: EvaluationSet, runtime: Runtime) -> dict[str, float]:
    return scores(*predict(model, images, runtime))
