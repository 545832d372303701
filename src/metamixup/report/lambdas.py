"""λ on the page of a run: its distribution over time, and the surface over class pairs."""

import base64
from typing import Any

import numpy as np

from metamixup.analysis.class_pairs import Frame, frames, group_names
from metamixup.analysis.records import Records
from metamixup.engine.records.lambdas import BINS, readable_pairs

# Bounds of what the page carries, in bytes before base64: a page of 600 epochs and 100 classes stays far below 8 MB.
MOST_CELLS = 1_200_000
MOST_BINS = 1_500_000
NOT_SEEN = 255


def lambda_parts(records: Records) -> dict[str, Any]:
    over_time, kinds = _over_time(records)
    pairs, note = _pairs(records)
    missing = [] if over_time or not records.metrics else ["no histogram of λ in metrics.jsonl: no λ over time"]
    if records.lambdas and not pairs:
        missing.append("lambda.jsonl holds no readable table: no class pairs")
    return {
        "lambda": bool(over_time),
        "lambda_kinds": kinds,
        "lambda_epochs": len(over_time.get("epochs", [])),
        "lambda_start": last_to_see([_blended(shares) for shares in over_time.get("all", [])]),
        "pairs": bool(pairs),
        "pairs_note": note,
        "pair_frames": len(pairs.get("frames", [])),
        "pair_start": last_to_see(pairs.pop("seen", [])),
        "pair_histograms": bool(pairs.get("histogram")),
        "pair_measures": [m for m in (("mixing", "mixing"), ("mean", "mean λ")) if pairs.get(m[0])],
        "missing": missing,
        "data": {"lambda": over_time or None, "pairs": pairs or None},
    }


def last_to_see(mixing: list[float]) -> int:
    """The last epoch that mixed at least half as much as the one that mixed most: a policy may end with the images
    themselves, where there is nothing to see."""
    most = max(mixing, default=0.0)
    return max((k for k, value in enumerate(mixing) if value >= most / 2), default=0)


def _blended(shares: list[float] | None) -> float:
    """The share of λ away from 0 and 1."""
    return sum(shares[1:-1]) if shares else 0.0


def _over_time(records: Records) -> tuple[dict[str, Any], bool]:
    """Shares of each bin by epoch: of all pairs from metrics.jsonl, of same and other classes from lambda.jsonl."""
    by_epoch = {line["epoch"]: line for line in records.lambdas}
    epochs = [line["epoch"] for line in records.metrics]
    every = [_shares(line.get("lambda_histogram")) for line in records.metrics]
    bins = max((len(shares) for shares in every if shares), default=0)
    if not bins:
        return {}, False
    kinds = {kind: [_shares(by_epoch.get(e, {}).get(kind), bins) for e in epochs] for kind in ("same", "other")}
    own = {"epochs": epochs, "bins": bins, "all": [s if s and len(s) == bins else None for s in every]}
    return own | kinds, any(s for kind in kinds.values() for s in kind)


def _shares(counts: Any, bins: int | None = None) -> list[float] | None:
    if not isinstance(counts, list) or not counts or (bins and len(counts) != bins):
        return None
    if not all(isinstance(c, int | float) for c in counts) or not sum(counts):
        return None
    return [round(c / sum(counts), 5) for c in counts]


def _pairs(records: Records) -> tuple[dict[str, Any], str]:
    whole = [line for line in records.lambdas if readable_pairs(line) is not None]
    if not whole:
        return {}, ""
    groups = whole[-1]["groups"]
    found = frames(whole, _room(groups, whole[-1]))
    names = group_names(records.classes, groups)
    tables = {
        "groups": groups,
        "names": names,
        "frames": [[frame.first, frame.last] for frame in found],
        "mean": _packed([frame.mean for frame in found]),
        "mixing": _packed([f.mixing for f in found]) if found[0].mixing is not None else None,
        "histogram": _packed_bins(found),
        "bins": _bins(found),
        "seen": [0.0 if f.mixing is None or np.isnan(f.mixing).all() else float(np.nanmean(f.mixing)) for f in found],
    }
    return tables, _note(records, groups, found)


def _bins(found: list[Frame]) -> int:
    return 0 if any(f.histogram is None for f in found) else int(found[0].histogram.shape[-1])  # type: ignore[union-attr]


def _room(groups: int, line: dict[str, Any]) -> int:
    """How many frames the page may carry."""
    room = MOST_CELLS // groups**2
    return max(2, min(room, MOST_BINS // (groups**2 * BINS)) if "histogram" in line else room)


def _note(records: Records, groups: int, found: list[Frame]) -> str:
    grouped = len(records.classes) > groups
    pooled = any(frame.first != frame.last for frame in found)
    notes = [
        "Neighbouring classes share a group." if grouped else "",
        "Epochs are pooled to keep the page small." if pooled else "",
    ]
    return " ".join(note for note in notes if note)


def _packed(tables: list[Any]) -> str:
    """A byte a cell: 0…254 for 0…1, 255 for pairs that were not seen."""
    values = np.stack(tables)
    cells = np.where(np.isnan(values), NOT_SEEN, np.clip(np.nan_to_num(values), 0, 1) * 254).round().astype(np.uint8)
    return base64.b64encode(cells.tobytes()).decode()


def _packed_bins(found: list[Frame]) -> str | None:
    """Shares of each pair's own largest bin, a byte each."""
    if not _bins(found):
        return None
    counts = np.stack([frame.histogram for frame in found]).astype(float)  # type: ignore[misc]
    top = counts.max(-1, keepdims=True)
    return base64.b64encode((counts / np.maximum(top, 1) * 255).round().astype(np.uint8).tobytes()).decode()
