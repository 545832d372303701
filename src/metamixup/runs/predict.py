"""A finished run put to use: the class of new images. What its inputs were like stands in its summary."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from metamixup.data.folder.decode import decode, without_pillow_warnings
from metamixup.data.stream import Normalise
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.runtime import Runtime
from metamixup.errors import DataError, UserError
from metamixup.runs.saved import load_weights, read_whitening
from metamixup.settings.build import model_for
from metamixup.settings.config import read_config

BATCH = 64


@dataclass(frozen=True)
class Prediction:
    """The likeliest class of an image and its probability (see runs/temperature.py), or why there is none."""

    path: Path
    label: str = ""
    probability: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Inputs:
    """What a run was trained on: classes, shape (C, H, W) and the statistics that images are normalised by."""

    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    bytes: bool = True
    whitened: bool = False


class Predictor:
    """The model of a finished run."""

    def __init__(self, folder: RunFolder):
        if not folder.finished:
            raise UserError(f"{folder.root} holds no finished run (no summary.json)")
        settings = read_config(folder.config)
        self.inputs = read_inputs(folder)
        channels, height, width = self.inputs.shape
        if channels not in (1, 3) or height != width:
            raise UserError(f"the run was trained on {channels}×{height}×{width} arrays, not on square images")
        self.runtime = Runtime(settings.threads, settings.precision, settings.device)
        self.model: nn.Module = model_for(settings, len(self.inputs.classes), self.inputs.shape)
        load_weights(self.model, folder)
        self.runtime.adopt(self.model)
        self.model.eval()
        self.normalise = self._normalise(folder)
        self.temperature = float(folder.read_summary().get("temperature", 1.0))

    def _normalise(self, folder: RunFolder) -> Callable[[Tensor], Tensor]:
        if self.inputs.whitened:
            return read_whitening(folder)
        if not self.inputs.bytes:
            raise UserError("the run was trained on arrays of floats: which of their values a pixel has is not known")
        return Normalise(self.inputs.mean, self.inputs.std, torch.empty(0, dtype=torch.uint8))

    def __call__(self, paths: Sequence[Path]) -> Iterator[Prediction]:
        """One prediction a path, in order; images that cannot be read carry the reason."""
        for start in range(0, len(paths), BATCH):
            yield from self._batch(paths[start : start + BATCH])

    def _batch(self, paths: Sequence[Path]) -> list[Prediction]:
        with without_pillow_warnings():
            read = [self._read(path) for path in paths]
        arrays = [image for image in read if not isinstance(image, Prediction)]
        found = iter(zip(*self._classify(torch.from_numpy(np.stack(arrays))), strict=True) if arrays else ())
        predictions = []
        for path, image in zip(paths, read, strict=True):
            if isinstance(image, Prediction):
                predictions.append(image)
            else:
                probability, label = next(found)
                predictions.append(Prediction(path, self.inputs.classes[label], probability))
        return predictions

    def _read(self, path: Path) -> "np.ndarray | Prediction":
        channels, size, _ = self.inputs.shape
        try:
            return decode(path, size, channels)
        except DataError as problem:
            return Prediction(path, problem=str(problem))

    @torch.no_grad()
    def _classify(self, images: Tensor) -> tuple[list[float], list[int]]:
        with self.runtime.autocast():
            logits = self.model(self.runtime.to_device(self.normalise(images)))
        best = (logits.float() / self.temperature).softmax(1).max(1)
        return best.values.tolist(), best.indices.tolist()


def read_inputs(folder: RunFolder) -> Inputs:
    summary = folder.read_summary()
    try:
        described = summary["input"]
        shape, mean, std = (tuple(described[key]) for key in ("shape", "mean", "std"))
        pixels, whitened = described.get("bytes", True), described.get("whitened", False)
        return Inputs(tuple(summary["classes"]), shape, mean, std, pixels, whitened)
    except KeyError as problem:
        raise UserError(f"{folder.summary} does not say what the run's images were like") from problem
