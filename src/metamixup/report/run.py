"""What the page of a run shows: numbers, curves and settings. λ's parts are in lambdas.py, images and predictions in
predictions.py."""

import math
import shlex
from typing import Any

from metamixup.analysis.records import Records
from metamixup.report.lambdas import lambda_parts
from metamixup.report.predictions import prediction_parts

_SETS = ("train", "meta", "test")
_CHARTS = (("Error", "%", "error"), ("Negative log-likelihood", "nats", "nll"), ("Calibration error", "%", "ece"))
_KNOWN = {
    "epoch",
    "step",
    "lr",
    "seconds",
    "train_seconds",
    "cpu_seconds",
    "images_per_second",
    "loader_share",
    "meta_share",
    "blended",
    "gap",
    "transfer",
    "waiting_loss",
    "trained_loss",
    "trust_auroc",
    "trust_right",
    "trust_wrong",
}
MOST_OTHER_CHARTS = 6
MOST_ROWS = 60  # of the table of epochs


def run_context(records: Records) -> dict[str, Any]:
    """All that the template and its scripts need; sections without records are empty and left out."""
    lambdas, predictions = lambda_parts(records), prediction_parts(records)
    charts, folder = _charts(records), records.path.absolute()  # pages are read from anywhere
    data = {"epochs": [line["epoch"] for line in records.metrics], "charts": charts}
    return {
        "kind": "run",
        "title": " · ".join(str(records.setting(key)) for key in ("data", "model", "method") if records.setting(key))
        or records.path.name,
        "subtitle": _subtitle(records),
        "missing": [*records.missing, *lambdas.pop("missing"), *predictions.pop("missing")],
        "remarks": records.summary.get("remarks", []),
        "cards": _cards(records),
        "charts": charts,
        "epoch_table": _epoch_table(records),
        "settings": _settings(records.settings),
        "audit": f"metamixup audit {shlex.quote(str(folder))} --page",
        "command": f"metamixup train --config {shlex.quote(str(folder / 'config.toml'))}" if records.settings else "",
        **{k: v for part in (lambdas, predictions) for k, v in part.items() if k != "data"},
        "data": data | lambdas["data"] | predictions["data"],
    }


def _subtitle(records: Records) -> str:
    epochs, done = records.setting("epochs"), len(records.metrics)
    images = records.summary.get("images", {})
    parts = [
        f"seed {records.setting('seed')}" if records.setting("seed") is not None else "",
        f"{done} epochs" if epochs in (None, done) else f"{done} of {epochs} epochs",
        f"{images['train']:,} training, {images['meta']:,} meta, {images['test']:,} test images"
        if {"train", "meta", "test"} <= images.keys()
        else "",
        f"policy {records.setting('policy.name')}" if records.setting("policy.name") else "",
    ]
    return " · ".join(part for part in parts if part)


def _cards(records: Records) -> list[dict[str, str]]:
    last = (records.metrics or [{}])[-1] | records.summary
    best = records.summary.get("best_by_meta") or {}
    last_share = records.metrics[-1].get("blended") if records.metrics else None
    rows = [
        (f"test error, last epoch{_sureness(records, last)}", last.get("test_error"), "%", 2),
        (f"test error, best by meta set (epoch {best.get('epoch')})", best.get("test_error"), "%", 2),
        ("how far confidence is off (calibration error)", last.get("test_ece"), "%", 2),
        ("training labels that look wrong", _called(records), "", 0),
        ("training time", *_duration(_total(records, "train_seconds")), 1),
        ("images a second", last.get("images_per_second") or _rate(records), "", 0),
        ("of it meta stage", _percent(last.get("meta_share")), "%", 1),
        ("pairs blended, last epoch", _percent(last_share), "%", 0),
        ("test NLL", last.get("test_nll"), "nats", 3),
        ("mean λ, last epoch", last.get("lambda_mean"), "", 3),
    ]
    return [
        {"name": name, "value": f"{value:,.{digits}f}", "unit": unit}
        for name, value, unit, digits in rows
        if isinstance(value, int | float)
    ]


def _sureness(records: Records, last: dict[str, Any]) -> str:
    """The 95 % interval that so many test images leave."""
    images, error = records.summary.get("images", {}), last.get("test_error")
    count = images.get("test") if isinstance(images, dict) else None
    if not isinstance(count, int) or not isinstance(error, int | float) or count < 2:
        return ""
    share, z = error / 100, 1.96
    middle, half = share + z**2 / (2 * count), z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    low, high = ((middle + sign * half) / (1 + z**2 / count) for sign in (-1, 1))
    return f" ({100 * max(low, 0):.2f} to {100 * high:.2f} by chance in {count:,} test images)"


def _called(records: Records) -> int | None:
    found = records.gallery.get("suspects")
    return found.get("called") if isinstance(found, dict) else None


def _total(records: Records, key: str) -> float | None:
    values = [value for value in records.column(key) if isinstance(value, int | float)]
    return sum(values) if values else None


def _rate(records: Records) -> float | None:
    return next((v for v in reversed(records.column("images_per_second")) if v is not None), None)


def _duration(seconds: float | None) -> tuple[float | None, str]:
    if seconds is None or seconds < 120:
        return seconds, "s"
    return (seconds / 60, "min") if seconds < 7200 else (seconds / 3600, "h")


def _percent(share: Any) -> float | None:
    return 100 * share if isinstance(share, int | float) else None


def _charts(records: Records) -> list[dict[str, Any]]:
    if not records.metrics:
        return []
    losses = sorted({name for line in records.metrics for name in _section(line, "losses")})
    charts = [_chart(records, title, unit, [(name, f"{name}_{key}") for name in _SETS]) for title, unit, key in _CHARTS]
    charts.insert(1, _chart(records, "Training loss", "", [(name, f"losses.{name}") for name in losses]))
    charts.append(_chart(records, "Learning rate", "", [("learning rate", "lr")]))
    losses_apart = [("samples that wait", "waiting_loss"), ("samples trained on", "trained_loss")]
    amount = [("share of pairs blended", "blended"), ("gap", "gap"), ("what carries over", "transfer")]
    charts.append(_chart(records, "How much is mixed", "", amount))
    charts.append(_chart(records, "Unblended loss", "nats", losses_apart))
    trusted = [("in right labels", "trust_right"), ("in wrong labels", "trust_wrong"), ("AUROC", "trust_auroc")]
    charts.append(_chart(records, "Trust", "", trusted))
    charts += [_chart(records, key.replace("_", " "), "", [(key, key)]) for key in _others(records)]
    return [chart for chart in charts if chart["series"]]


def _section(line: dict[str, Any], name: str) -> dict[str, Any]:
    found = line.get(name)
    return found if isinstance(found, dict) else {}


def _others(records: Records) -> list[str]:
    """Numbers of the method's own, such as a threshold, each in a chart of its own."""
    keys = {key for line in records.metrics for key, value in line.items() if isinstance(value, int | float)}
    known = {key for key in keys if key in _KNOWN or key.startswith(("lambda_", *(f"{name}_" for name in _SETS)))}
    return sorted(keys - known)[:MOST_OTHER_CHARTS]


def _chart(records: Records, title: str, unit: str, series: list[tuple[str, str]]) -> dict[str, Any]:
    columns = [(name, [_number(v) for v in records.column(key)]) for name, key in series]
    drawn = [{"name": name, "values": values} for name, values in columns if any(v is not None for v in values)]
    return {"title": f"{title} ({unit})" if unit else title, "unit": unit, "series": drawn}


def _number(value: Any) -> float | None:
    return float(f"{value:.5g}") if isinstance(value, int | float) and not isinstance(value, bool) else None


def _epoch_table(records: Records) -> dict[str, Any]:
    charts = _charts(records)
    columns = [
        (f"{s['name']}, {c['title']}" if len(c["series"]) > 1 else c["title"], s) for c in charts for s in c["series"]
    ]
    kept = _epochs_told(records.metrics)
    rows = [[records.metrics[k]["epoch"], *(_shown(s["values"][k]) for _, s in columns)] for k in kept]
    return {"head": ["epoch", *(name for name, _ in columns)], "rows": rows}


def _epochs_told(metrics: list[dict[str, Any]]) -> list[int]:
    """The places of at most MOST_ROWS epochs: those that were evaluated before others, and the last in any case."""
    everything = list(range(len(metrics)))
    before, last = everything[:-1], everything[-1:]
    evaluated = [k for k in before if any(f"{name}_error" in metrics[k] for name in _SETS)]
    others = sorted({*before} - {*evaluated})
    room = MOST_ROWS - 1
    return sorted([*_every_nth(evaluated, room), *_every_nth(others, room - len(evaluated)), *last])


def _every_nth(places: list[int], most: int) -> list[int]:
    return places[:: max(1, -(-len(places) // most))] if most > 0 else []


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _settings(settings: dict[str, Any]) -> list[tuple[str, list[tuple[str, Any]]]]:
    plain = [(key, value) for key, value in settings.items() if not isinstance(value, dict)]
    sections = [(key, list(value.items())) for key, value in settings.items() if isinstance(value, dict) and value]
    return [("run", plain), *sections] if plain else sections
