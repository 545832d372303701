"""What of a finished run is worth looking at: calibration, confusion, worst mistakes and extreme pairs, with the images
themselves, so that its page needs neither the data nor the weights."""

import base64
import io
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from metamixup import world
from metamixup.data import DataSet, ImageSet
from metamixup.engine.evaluate import calibration_bins
from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.engine.records.summary_check import is_number
from metamixup.engine.training import Training
from metamixup.mixing import mix
from metamixup.storage import as_json, write_atomically
from metamixup.trust import Trust

MISTAKES = 14
CONFUSED = 20
MOST_CLASSES = 200  # a larger confusion matrix is left out
WELL_MIXED = 0.25  # |λ − ½| at most
LARGEST_SIDE = 96  # of a picture, in pixels


def write_gallery(folder: RunFolder, training: Training, found: DataSet, logits: Tensor, labels: Tensor) -> None:
    """OUT/gallery.json, written once at the end of a run. logits: (N, C) of the test set in its order; labels: (N,)."""
    if not world.leads():
        return
    blended = last_blends(read_lines(folder.lambdas))
    record = {
        "classes": list(found.classes),
        **predictions(logits, labels, found),
        "suspects": suspects(training, found.train),
        "pairs": {
            "epoch": blended.get("epoch"),
            **{kind: extreme_pairs(blended.get(kind, []), found.train) for kind in ("most", "least")},
        },
    }
    write_atomically(folder.gallery, as_json(record))


def last_blends(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The last epoch of lambda.jsonl whose most mixed pairs are all well mixed, or else the last that has any: the
    default policy ends on the images themselves."""
    mixed = [line for line in lines if _rows(line.get("most"))]
    well = [line for line in mixed if all(abs(lam - 0.5) < WELL_MIXED for _, _, lam, *_ in _rows(line["most"]))]
    return (well or mixed or [{}])[-1]


def predictions(logits: Tensor, labels: Tensor, found: DataSet) -> dict[str, Any]:
    """logits: (N, C) of the test set in its order; labels: (N,)."""
    probabilities = logits.double().softmax(1)
    count, confidence, correct = calibration_bins(probabilities, labels)
    table = confusion(probabilities.argmax(1), labels, found.num_classes)
    filled = count.clamp(min=1)
    return {
        "calibration": {
            "count": count.long().tolist(),
            "confidence": _rounded(confidence / filled),
            "accuracy": _rounded(correct / filled),
        },
        "confused": most_confused(table),
        **({"confusion": table.tolist()} if found.num_classes <= MOST_CLASSES else {}),
        "mistakes": worst_mistakes(probabilities, labels, found.test),
    }


def confusion(predicted: Tensor, labels: Tensor, classes: int) -> Tensor:
    """(C, C) counts, true class by predicted."""
    return torch.bincount(labels * classes + predicted, minlength=classes**2).view(classes, classes)


def most_confused(table: Tensor) -> list[list[int]]:
    """[true, predicted, count], the largest counts first."""
    wrong = table.clone().fill_diagonal_(0).flatten()
    count, place = wrong.sort(descending=True, stable=True)
    return [[p // len(table), p % len(table), n] for n, p in zip(count.tolist(), place.tolist(), strict=True) if n][
        :CONFUSED
    ]


def worst_mistakes(probabilities: Tensor, labels: Tensor, images: ImageSet) -> list[dict[str, Any]]:
    """The test images that were wrong with the highest confidence."""
    confidence, predicted = probabilities.max(1)
    surest = confidence.masked_fill(predicted == labels, -1).sort(descending=True, stable=True).indices[:MISTAKES]
    return [
        {
            "index": k,
            "true": int(labels[k]),
            "predicted": int(predicted[k]),
            "confidence": round(float(confidence[k]), 4),
            **_shown(images, k),
        }
        for k in surest.tolist()
        if predicted[k] != labels[k]
    ]


def suspects(training: Training, images: ImageSet) -> dict[str, Any]:
    """The share of training labels that the policy takes for wrong, how many it names, and the worst of them: none
    where its distrust never acts. Empty where it judges no labels."""
    if not isinstance(training.stage, Trust):
        return {}
    found = [one for one in training.stage.labels.taken_for_wrong() if one.index < len(images)]
    worst = [
        {**vars(s), "given": int(images.labels[s.index]), "wrong": round(s.wrong, 4), **_shown(images, s.index)}
        for s in found[:MISTAKES]
    ]
    division = training.stage.labels.division
    return {"share": round(division.share, 4) if division.strength else 0.0, "called": len(found), "worst": worst}


def _shown(images: ImageSet, k: int) -> dict[str, str]:
    """An image, and its file where it has one."""
    return {"image": picture(images.images[k]), **({"file": images.names[k]} if images.names else {})}


def extreme_pairs(rows: Any, images: ImageSet) -> list[dict[str, Any]]:
    """rows: (first, second, λ), with the box of blends by regions, as lambda.jsonl has them."""
    count = len(images.images)
    return [_triple(int(i), int(j), lam, box, images) for i, j, lam, *box in _rows(rows) if max(i, j) < count]


def _rows(found: Any) -> list[tuple[float, ...]]:
    """(first, second, λ, box) of a line that may have been altered; what is no such row is left out."""
    rows = [tuple(row) for row in found if isinstance(row, list)] if isinstance(found, list) else []
    numbers = [row for row in rows if len(row) in (3, 7) and all(is_number(value) and value >= 0 for value in row)]
    return [row for row in numbers if max(row[2:]) <= 1]


def _triple(i: int, j: int, lam: float, box: list[float], images: ImageSet) -> dict[str, Any]:
    first, second = images.images[i], images.images[j]
    blend = mix(first.float()[None], second.float()[None], lam)[0].to(first.dtype)
    blend = _pasted(first, second, lam, box) if box else blend
    pictures = {"first": picture(first), "second": picture(second), "mixed": picture(blend)}
    return {"lam": lam, "first_class": int(images.labels[i]), "second_class": int(images.labels[j]), **pictures}


def _pasted(first: Tensor, second: Tensor, lam: float, box: list[float]) -> Tensor:
    """The box is of the side whose share its area is. Images may have been smaller while they were trained on."""
    height, width = first.shape[-2:]
    top, left, bottom, right = (round(end * size) for end, size in zip(box, [height, width] * 2, strict=True))
    area = (box[2] - box[0]) * (box[3] - box[1])
    inside, outside = (first, second) if abs(area - lam) < abs(area - (1 - lam)) else (second, first)
    blend = outside.clone()
    blend[..., top:bottom, left:right] = inside[..., top:bottom, left:right]
    return blend


def picture(image: Tensor) -> str:
    """(C, H, W), uint8 or floats of any range, as PNG in base64; one channel is grey, two or more are read as RGB."""
    if image.dtype != torch.uint8:
        low, high = image.min(), image.max()
        image = ((image - low) / (high - low).clamp(min=1e-12) * 255).round().to(torch.uint8)
    image = image[:3] if len(image) >= 3 else image[:1].expand(3, -1, -1)
    made = Image.fromarray(np.ascontiguousarray(image.permute(1, 2, 0).cpu().numpy()))
    made.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    file = io.BytesIO()
    made.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 5) for value in values.tolist()]
