"""λ by class pair over the epochs of a run, pooled to so many frames that a page stays small."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from metamixup.engine.records.lambdas import readable_pairs


@dataclass(frozen=True)
class Frame:
    """Epochs `first` to `last` pooled. Tables are (G, G), the first image's class by the second's, NaN where no such
    pair was seen; histogram is (G, G, bins) or None."""

    first: int
    last: int
    mean: np.ndarray
    mixing: np.ndarray | None
    histogram: np.ndarray | None


def frames(lines: list[dict[str, Any]], most: int | None = None) -> list[Frame]:
    """Up to `most` frames (all epochs if None) from lines of lambda.jsonl; damaged lines are left out."""
    tables = [(line["epoch"], table) for line in lines if (table := readable_pairs(line)) is not None]
    if not tables:
        return []
    size = tables[-1][1]["mean"].shape
    tables = [entry for entry in tables if entry[1]["mean"].shape == size]
    return [_pooled(part) for part in _parts(tables, most or len(tables))]


def _parts(entries: list[Any], most: int) -> list[list[Any]]:
    """Nearly equal consecutive parts."""
    cuts = np.linspace(0, len(entries), min(most, len(entries)) + 1).round().astype(int)
    return [entries[a:b] for a, b in pairwise(cuts)]


def _pooled(entries: list[tuple[int, dict[str, np.ndarray]]]) -> Frame:
    tables = [table for _, table in entries]
    count = np.stack([t["count"] for t in tables]).astype(float)
    histograms = [t["histogram"] for t in tables if "histogram" in t]
    histogram = np.sum(histograms, axis=0) if len(histograms) == len(tables) else None
    mixing = _mean(tables, "mixing", count) if all("mixing" in t for t in tables) else _mixing(histogram)
    return Frame(entries[0][0], entries[-1][0], _mean(tables, "mean", count), mixing, histogram)


def _mean(tables: list[dict[str, np.ndarray]], key: str, count: np.ndarray) -> np.ndarray:
    total = np.nansum(np.stack([t[key] for t in tables]) * count, axis=0)
    seen = count.sum(0)
    return np.where(seen > 0, total / np.maximum(seen, 1), np.nan)


def _mixing(histogram: np.ndarray | None) -> np.ndarray | None:
    """1 − |2λ − 1| from the bins' middles, for records that do not hold it."""
    if histogram is None:
        return None
    middles = (np.arange(histogram.shape[-1]) + 0.5) / histogram.shape[-1]
    seen = histogram.sum(-1)
    return np.where(seen > 0, histogram @ (1 - np.abs(2 * middles - 1)) / np.maximum(seen, 1), np.nan)


def group_names(classes: list[str], groups: int) -> list[str]:
    """The classes' names; above 100 classes neighbours share a group, named by its first and last."""
    if not classes:
        return [str(k) for k in range(groups)]
    if len(classes) == groups:
        return classes
    members: list[list[str]] = [[] for _ in range(groups)]
    for k, name in enumerate(classes):
        members[k * groups // len(classes)].append(name)
    return [own[0] if len(own) == 1 else f"{own[0]} … {own[-1]}" if own else str(k) for k, own in enumerate(members)]
