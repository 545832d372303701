"""The plane of a network with two feature units (Section IV-D): what MixUp and MetaMixUp make of the classes."""

import html
from typing import Any

import numpy as np
import torch
from torch import Tensor

from metamixup.analysis.rebuild import Rebuilt
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import COLOURS, COLUMN, MARKERS, label, panels, plain, styled
from metamixup.errors import UserError

MOST_POINTS = 3000


def features_study(runs: list[Rebuilt]) -> Study:
    """Test images in each run's plane, with the regions in which its classifier decides for a class."""
    planes = [_plane(run) for run in runs]
    numbers = {"runs": [{key: plane[key] for key in ("run", "name", "test_error", "separation")} for plane in planes]}
    return Study("features", numbers, _figure(planes), _interactive(planes))


def _plane(run: Rebuilt) -> dict[str, Any]:
    parts = [(run.features(x), y) for x, y in run.inputs(run.found.test, torch.arange(len(run.found.test)))]
    points, labels = torch.cat([z for z, _ in parts]), torch.cat([y for _, y in parts])
    if points.shape[1] != 2:
        raise UserError(
            f"{run.records.path}: its features have {points.shape[1]} dimensions, not 2; train with --model cnn2d"
        )
    classifier: Any = run.model.classifier
    return {
        "run": str(run.records.path),
        "name": run.records.name,
        "test_error": run.records.summary.get("test_error"),
        "separation": separation(points, labels),
        "points": points[:MOST_POINTS].numpy(),
        "labels": labels[:MOST_POINTS].numpy(),
        "classes": list(run.found.classes),
        "weight": classifier.weight.detach().float().cpu().numpy(),
        "bias": classifier.bias.detach().float().cpu().numpy(),
    }


def separation(points: Tensor, labels: Tensor) -> float:
    """Scatter between the classes' means over the scatter within them. points: (N, D); labels: (N,)."""
    classes = labels.unique()
    means = torch.stack([points[labels == c].mean(0) for c in classes])
    within = sum(float((points[labels == c] - m).square().sum()) for c, m in zip(classes, means, strict=True))
    sizes = torch.stack([(labels == c).sum() for c in classes])[:, None]
    between = float((sizes * (means - points.mean(0)).square()).sum())
    return between / max(within, 1e-12)


def _style(c: int) -> tuple[str, str]:
    return COLOURS[c % len(COLOURS)], MARKERS[c % len(MARKERS)]


def _figure(planes: list[dict[str, Any]]) -> Any:
    with styled():
        figure, axes = panels(len(planes), width=COLUMN * len(planes), height=3.0, squeeze=False)
        for axis, plane in zip(axes[0], planes, strict=True):
            _regions(axis, plane)
            for c, name in enumerate(plane["classes"]):
                own, (colour, marker) = plane["points"][plane["labels"] == c], _style(c)
                axis.scatter(*own.T, s=5, color=colour, marker=marker, linewidths=0, alpha=0.7, label=plain(name))
            label(
                axis,
                f"{plain(plane['name'])}: error {plane['test_error'] or float('nan'):.2f} %",
                "feature 1",
                "feature 2",
            )
        axes[0, -1].legend(
            loc="center left", bbox_to_anchor=(1, 0.5), markerscale=2, ncols=1 + len(planes[0]["classes"]) // 13
        )
    return figure


def _regions(axis: Any, plane: dict[str, Any]) -> None:
    """Borders between the classifier's decisions, which are straight lines here."""
    low, high = plane["points"].min(0), plane["points"].max(0)
    pad = 0.05 * (high - low)
    x, y = (np.linspace(a, b, 300) for a, b in zip(low - pad, high + pad, strict=True))
    at = np.stack(np.meshgrid(x, y), -1)
    decided = (at @ plane["weight"].T + plane["bias"]).argmax(-1)
    axis.contour(x, y, decided, levels=np.arange(len(plane["bias"])) + 0.5, colors="#999999", linewidths=0.5)


def _interactive(planes: list[dict[str, Any]]) -> Any:
    figure = interactive("Features of the test images", "feature 1", "feature 2", height=700)
    for k, plane in enumerate(planes):
        for c, name in enumerate(plane["classes"]):
            own = plane["points"][plane["labels"] == c]
            mark = {"color": _style(c)[0], "size": 5, "symbol": c % 7}
            figure.add_scattergl(
                x=own[:, 0], y=own[:, 1], mode="markers", name=html.escape(name), marker=mark, visible=k == 0
            )
    size = len(planes[0]["classes"])
    buttons = [
        {
            "label": html.escape(p["name"]),
            "method": "restyle",
            "args": [{"visible": [n // size == k for n in range(size * len(planes))]}],
        }
        for k, p in enumerate(planes)
    ]
    figure.update_layout(updatemenus=[{"buttons": buttons, "x": 1, "y": 1.12}])
    return figure
