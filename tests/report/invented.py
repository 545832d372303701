"""An invented run folder in the engine's format: any number of epochs and classes in seconds, no training."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from metamixup.engine.records.lambdas import Lambdas

CONFIG = """data = "invented"
model = "cnn3"
method = "metamixup"
epochs = {epochs}
seed = 3
[policy]
name = "learned"
projection = "logit"
[optimizer]
lr = 0.1
"""


def write_run(path: Path, epochs: int = 6, classes: list[str] | int = 10, steps: int = 4, batch: int = 128) -> Path:
    names = [f"class {c}" for c in range(classes)] if isinstance(classes, int) else classes
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.toml").write_text(CONFIG.format(epochs=epochs))
    generator = np.random.default_rng(0)
    lambdas = Lambdas(len(names))
    with (path / "metrics.jsonl").open("w") as metrics, (path / "lambda.jsonl").open("w") as pairs:
        for epoch in range(1, epochs + 1):
            _invent_steps(lambdas, generator, epoch / epochs, len(names), steps, batch)
            line = _metrics(epoch, epochs, generator) | lambdas.summary()
            metrics.write(json.dumps(line) + "\n")
            pairs.write(json.dumps({"epoch": epoch, "step": epoch * steps} | lambdas.line()) + "\n")
            lambdas.reset()
    write_summary(path, line, names)
    write_gallery(path, names, generator)
    return path


def _invent_steps(lambdas, generator, progress, classes, steps, batch):
    """λ moves to 0 and 1 with time, the more the further apart two classes are."""
    for _ in range(steps):
        label = generator.integers(0, classes, batch)
        partner = generator.permutation(batch)
        distance = np.abs(label - label[partner]) / max(1, classes - 1)
        sigma = 0.6 + 6 * progress * distance
        lam = 1 / (1 + np.exp(-sigma * generator.normal(size=batch)))
        labels = torch.nn.functional.one_hot(torch.tensor(label), classes).float()
        lambdas.add(torch.tensor(lam), labels, torch.tensor(partner))


def _metrics(epoch, epochs, generator):
    fall = np.exp(-5 * epoch / epochs)
    noise = 1 + 0.05 * generator.normal()
    error = {f"{name}_error": base + 60 * fall * noise for name, base in (("train", 1.0), ("meta", 3.0), ("test", 3.4))}
    nll = {f"{name}_nll": base + 2 * fall * noise for name, base in (("train", 0.05), ("meta", 0.11), ("test", 0.13))}
    return {
        "epoch": epoch,
        "step": epoch * 4,
        "lr": 0.05 * (1 + np.cos(np.pi * epoch / epochs)),
        "losses": {"supervised": 0.5 + 1.8 * fall * noise},
        **error,
        **nll,
        "test_ece": 1.0 + 8 * fall,
        "train_seconds": 2.5,
        "seconds": 3.0,
        "images_per_second": 900.0,
        "loader_share": 0.02,
        "meta_share": 0.3,
    }


def write_summary(path, last, names):
    about = {"data": "invented", "model": "cnn3", "method": "metamixup", "seed": 3, "classes": names}
    images = {"train": 1600, "meta": 100, "test": 450, "unlabelled": 0}
    best = {"epoch": 2, "test_error": 3.9}
    (path / "summary.json").write_text(json.dumps(last | about | {"images": images, "best_by_meta": best}))


def picture(generator, size=16):
    y, x = np.mgrid[:size, :size] / size - 0.5
    a, b, c = generator.normal(size=3)
    values = 127 + 120 * np.sin(12 * (a * x + b * y) + c)
    file = io.BytesIO()
    Image.fromarray(values.astype(np.uint8)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


# One grey pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="


def write_gallery(path, names, generator):
    n = len(names)
    confusion = generator.poisson(0.4, (n, n)) + 40 * np.eye(n, dtype=int)
    triples = [
        {"first": picture(generator), "second": picture(generator), "mixed": picture(generator), "lam": lam}
        | {"first_class": 0, "second_class": 1}
        for lam in (0.5, 0.48, 0.53, 0.499)
    ]
    record = {
        "classes": names,
        "confusion": confusion.tolist(),
        "confused": [[0, n - 1, 7], [n - 1, 0, 3]],
        "calibration": {
            "confidence": [(k + 0.5) / 15 for k in range(15)],
            "accuracy": [min(1, (k + 0.9) / 15) for k in range(15)],
            "count": [0, 0, 1, *(2 ** (k // 2) for k in range(12))],
        },
        "suspects": {
            "called": 3,
            "worst": [{"index": 7, "given": 1, "likely": 0, "wrong": 0.97, "image": PIXEL, "file": "b/<x>.png"}],
        },
        "mistakes": [
            {"image": picture(generator), "index": k, "true": 0, "predicted": n - 1, "confidence": 0.99 - k / 100}
            for k in range(8)
        ],
        "pairs": {"most": triples, "least": [t | {"lam": 0.999} for t in triples]},
    }
    (path / "gallery.json").write_text(json.dumps(record))
