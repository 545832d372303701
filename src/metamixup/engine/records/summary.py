"""What a finished run reports: its last epoch and, where the meta images are not trained on, the epoch that was best on
them. The test set chooses nothing."""

import math
import platform
import re
from pathlib import Path
from statistics import median
from typing import Any

import torch

from metamixup.engine.records.remarks import remarks
from metamixup.engine.records.summary_check import is_number
from metamixup.engine.training import Training

SCORE = re.compile(r"(train|meta|selection|test)_(error|error_top5|error_views|nll|ece)")
SECONDS = ("seconds", "train_seconds", "cpu_seconds", "loader_share", "meta_share")


def is_epoch_line(line: dict[str, Any]) -> bool:
    """Is this a line of metrics.jsonl as the loop writes it? Files may be cut off, or altered by hand."""
    whole = isinstance(line.get("epoch"), int) and isinstance(line.get("step"), int)
    return whole and isinstance(line.get("losses"), dict) and all(is_number(line.get(key)) for key in SECONDS)


def scores_of(line: dict[str, Any]) -> dict[str, float]:
    return {key: value for key, value in line.items() if SCORE.fullmatch(key) and is_number(value)}


def summarise(training: Training, weights: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    lines = [line for line in lines if is_epoch_line(line)]
    last = lines[-1]
    tested = scores_of(last)
    seconds = sum(line["train_seconds"] for line in lines)
    return {
        "test_error": tested.get("test_error"),
        **tested,
        "test_error_median": median_of_last(lines, "test_error"),
        "best_by_meta": best_by_meta(lines) if meta_is_held_out(training) else None,
        **training.about,
        "fingerprint": training.fingerprint,
        "weights": weights,
        "parameters": sum(p.numel() for p in training.model.parameters()),
        "epochs": training.epochs,
        "steps": training.steps,
        "remarks": remarks(training, lines),
        "losses": last["losses"],
        **{key: last[key] for key in ("lambda_mean", "lambda_quantiles", "lambda_histogram") if key in last},
        **({"blended": [line.get("blended") for line in lines]} if "blended" in last else {}),
        "seconds": round(sum(line["seconds"] for line in lines), 3),
        "train_seconds": round(seconds, 3),
        "cpu_seconds": round(sum(line["cpu_seconds"] for line in lines), 3),
        "device": next(training.model.parameters()).device.type,
        "processor": processor(),
        **{share: _mean_share(lines, share, seconds) for share in ("loader_share", "meta_share")},
    }


def processor() -> str:
    """The kind of processor: the same run gives other figures on another, since it sums in another order."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        return next(line.partition(":")[2].strip() for line in told.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def meta_is_held_out(training: Training) -> bool:
    """Images that are trained on cannot choose an epoch."""
    meta, train = training.split.get("meta"), training.split.get("train")
    return meta is None or train is None or not bool(torch.isin(meta, train).any())


def best_by_meta(lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The epoch with the lowest error on the meta set, ties by its NLL, with what the test set says of it."""
    tested = [{"epoch": line["epoch"], **scores_of(line)} for line in lines if is_number(line.get("meta_error"))]
    return min(tested, key=lambda line: (line["meta_error"], line.get("meta_nll", math.inf))) if tested else None


def median_of_last(lines: list[dict[str, Any]], key: str, count: int = 20) -> float | None:
    """The median of the last 20 evaluations, which MixMatch's authors report: it chooses nothing either."""
    found = [line[key] for line in lines if is_number(line.get(key))][-count:]
    return round(median(found), 6) if found else None


def _mean_share(lines: list[dict[str, Any]], share: str, seconds: float) -> float:
    return round(sum(line[share] * line["train_seconds"] for line in lines) / max(seconds, 1e-9), 4)
