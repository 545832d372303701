"""Predictions and images on the page of a run, from gallery.json."""

import re
from typing import Any

from metamixup.analysis.records import Records

# Only pictures that the run itself made: PNG as base64, nothing that could be a script or a request.
_PICTURE = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
MOST_CONFUSED = 10


def prediction_parts(records: Records) -> dict[str, Any]:
    gallery, names = records.gallery, records.classes
    confusion = _confusion(gallery.get("confusion"), names)
    calibration = _calibration(gallery.get("calibration"))
    found = gallery.get("pairs")
    pairs: dict[str, Any] = found if isinstance(found, dict) else {}
    parts = {
        "calibration": bool(calibration),
        "confusion": bool(confusion),
        "confused": _confused(gallery.get("confused"), names),
        "mistakes": _each(_mistake, gallery.get("mistakes"), names),
        **_suspects(gallery.get("suspects"), names),
        "pairs_epoch": _epoch(pairs.get("epoch")),
        "most": _each(_triple, pairs.get("most"), names),
        "least": _each(_triple, pairs.get("least"), names),
    }
    return parts | {"missing": _missing(records, parts), "data": {"calibration": calibration, "confusion": confusion}}


def _missing(records: Records, parts: dict[str, Any]) -> list[str]:
    if not records.gallery:
        return []  # said already, for all of them at once
    told = {"calibration": "calibration", "confusion": "confusion matrix", "most": "images of mixed pairs"}
    return [f"gallery.json holds no {what}" for key, what in told.items() if not parts[key]]


def _epoch(found: Any) -> str:
    return f"epoch {found}" if isinstance(found, int) else "the last epoch"


def _calibration(found: Any) -> dict[str, Any] | None:
    keys = ("confidence", "accuracy", "count")
    if not isinstance(found, dict) or not all(isinstance(found.get(key), list) for key in keys):
        return None
    return {key: found[key] for key in keys} if len({len(found[key]) for key in keys}) == 1 else None


def _confusion(found: Any, names: list[str]) -> dict[str, Any] | None:
    """counts: rows are true classes, flattened."""
    size = len(names)
    rows = found if isinstance(found, list) and len(found) == size else []
    if not size or not rows or not all(isinstance(row, list) and len(row) == size for row in rows):
        return None
    return {"names": names, "counts": [count for row in found for count in row]}


def _confused(found: Any, names: list[str]) -> dict[str, Any] | None:
    rows = [row for row in found if isinstance(row, list) and len(row) == 3] if isinstance(found, list) else []
    shown = [[_name(true, names), _name(predicted, names), count] for true, predicted, count in rows[:MOST_CONFUSED]]
    return {"head": ["true class", "predicted", "images"], "rows": shown} if shown else None


def _each(make: Any, entries: Any, names: list[str]) -> list[dict[str, Any]]:
    made = [make(entry, names) for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [entry for entry in made if entry is not None]


def _suspects(found: Any, names: list[str]) -> dict[str, Any]:
    told = found if isinstance(found, dict) else {}
    called = told.get("called")
    return {
        "suspects": _each(_suspect, told.get("worst"), names),
        "suspects_called": called if isinstance(called, int) else None,
    }


def _suspect(entry: dict[str, Any], names: list[str]) -> dict[str, Any] | None:
    image, wrong = _picture(entry.get("image")), entry.get("wrong")
    if image is None or not isinstance(wrong, int | float):
        return None
    named = {key: "" if entry.get(key) is None else _name(entry[key], names) for key in ("given", "likely")}
    return {"image": image, "file": _file(entry, "training image"), "wrong": f"{100 * wrong:.1f}\u00a0%", **named}


def _file(entry: dict[str, Any], kind: str) -> str:
    return str(entry.get("file") or f"{kind} {entry.get('index')}")


def _mistake(entry: dict[str, Any], names: list[str]) -> dict[str, Any] | None:
    image, confidence = _picture(entry.get("image")), entry.get("confidence")
    if image is None or not isinstance(confidence, int | float):
        return None
    named = {key: _name(entry.get(key), names) for key in ("true", "predicted")}
    return {"image": image, "file": _file(entry, "test image"), "confidence": f"{100 * confidence:.1f}\u00a0%", **named}


def _triple(entry: dict[str, Any], names: list[str]) -> dict[str, Any] | None:
    images = {key: _picture(entry.get(key)) for key in ("first", "second", "mixed")}
    if None in images.values() or not isinstance(entry.get("lam"), int | float):
        return None
    named = {f"{key}_class": _name(entry.get(f"{key}_class"), names) for key in ("first", "second")}
    return {**images, **named, "lam": entry["lam"]}


def _picture(text: Any) -> str | None:
    return f"data:image/png;base64,{text}" if isinstance(text, str) and _PICTURE.match(text) else None


def _name(label: Any, names: list[str]) -> str:
    return names[label] if isinstance(label, int) and 0 <= label < len(names) else str(label)
