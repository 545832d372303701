"""The sets that a run is evaluated on, in batches."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from metamixup.data import DataSet, ImageSet, Split
from metamixup.data.stream import Normalise
from metamixup.engine.evaluate import EvaluationSet
from metamixup.seeding import derived_generator
from metamixup.settings.schema import Settings

EVALUATION_BATCH = 500
TRAIN_SAMPLE = 2000  # training images scored for `train_error`, of small sets a quarter


def build_evaluation(settings: Settings, found: DataSet, parts: Split) -> tuple[EvaluationSet, ...]:
    order = torch.randperm(len(parts.train), generator=derived_generator(settings.seed, "train sample"))
    size = min(TRAIN_SAMPLE, max(1, len(parts.train) // 4))
    sample = parts.train[order[:size]].sort().values
    return (
        evaluation_set("train", found, found.train, sample),
        *([evaluation_set("meta", found, found.train, parts.meta)] if len(parts.meta) else []),
        *([whole_set("selection", found, found.selection)] if found.selection is not None else []),
        test_set(settings, found),
    )


def test_set(settings: Settings, found: DataSet) -> EvaluationSet:
    return replace(whole_set("test", found, found.test), views=settings.test_views)


def whole_set(name: str, found: DataSet, images: ImageSet) -> EvaluationSet:
    return evaluation_set(name, found, images, torch.arange(len(images)))


def evaluation_set(name: str, found: DataSet, images: ImageSet, index: Tensor) -> EvaluationSet:
    normalise = Normalise(found.mean, found.std, images.images)

    def batches(rank: int = 0, world: int = 1) -> Iterator[tuple[Tensor, Tensor]]:
        parts = index.split(EVALUATION_BATCH)
        for part in parts[len(parts) * rank // world : len(parts) * (rank + 1) // world]:
            yield normalise(images.images[part]), images.labels[part]

    return EvaluationSet(name, batches)
