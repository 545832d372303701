"""MixUp against MetaMixUp by how near their blends come to real samples of other labels (Section IV-D)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from metamixup.analysis.intrusion import least_distances, summary
from metamixup.analysis.rebuild import Rebuilt
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import COLUMN, colours, label, panels, plain, styled
from metamixup.errors import UserError

SAMPLES = 10_000


def intrusion_study(runs: list[Rebuilt], samples: int = SAMPLES) -> Study:
    """Each in its own trained network's features, as the paper has it. Networks scale their features as they like, so
    distances are also given relative to those of the real training images from their nearest of another label."""
    found = {run.records.name: _distances(run, samples) for run in runs}
    for name, own in found.items():
        if not all(bool(distance.isfinite().any()) for distance in own.values()):
            raise UserError(f"{name}: with fewer than three classes no blend meets another label")
    numbers = {"runs": {name: _numbers(own) for name, own in found.items()}}
    return Study("intrusion", numbers, _figure(found), _interactive(found))


def _distances(run: Rebuilt, samples: int) -> dict[str, Tensor]:
    parts = [(run.features(x), y) for x, y in run.inputs(run.found.train, run.split.train)]
    real, labels = torch.cat([z for z, _ in parts]), torch.cat([y for _, y in parts])
    blends = [(run.features(x), pair) for x, pair in run.mixed(samples)]
    mixed, pair = (torch.cat(column) for column in zip(*blends, strict=True))
    chosen = torch.randperm(len(real), generator=torch.Generator().manual_seed(0))[:samples]
    own = torch.stack([labels, labels], 1)[chosen]
    return {
        "blends": least_distances(mixed, pair, real, labels),
        "real": least_distances(real[chosen], own, real, labels),
    }


def _numbers(own: dict[str, Tensor]) -> dict[str, Any]:
    blends, real = summary(own["blends"]), summary(own["real"])
    relative = {key: value / real["mean"] for key, value in blends.items() if isinstance(value, float)}
    return {"blends": blends, "real": real, "relative": relative}


def _figure(found: dict[str, dict[str, Tensor]]) -> Any:
    with styled():
        figure, axes = panels(3, width=2 * COLUMN)
        titles = ("Mean", "Minimum", "Relative to real images")
        for k, ((name, own), colour) in enumerate(zip(found.items(), colours(), strict=False)):
            numbers = _numbers(own)
            for axis, key in zip(axes, ("mean", "minimum"), strict=False):
                bar = axis.bar(k, numbers["blends"][key], 0.6, color=colour)
                axis.bar_label(bar, fmt="%.3g", fontsize=7)
            relative = _relative(own)
            axes[2].plot(
                relative, 100 * np.arange(1, len(relative) + 1) / len(relative), color=colour, label=plain(name)
            )
        for axis, title in zip(axes, titles, strict=True):
            label(axis, title, "", "least distance to another label")
        for axis in axes[:2]:
            axis.set_xticks([])  # the third panel's legend names the colours
            axis.margins(y=0.15)
        label(axes[2], titles[2], "distance / mean of real images", "blends (%)")
        axes[2].set_xlim(0, _far(found))
        axes[2].legend(loc="lower right")
    return figure


def _relative(own: dict[str, Tensor]) -> np.ndarray:
    """Sorted; blends of all the labels there are have no other to meet."""
    blends, real = (own[kind][own[kind].isfinite()] for kind in ("blends", "real"))
    return np.sort((blends / real.mean()).numpy())


def _far(found: dict[str, dict[str, Tensor]]) -> float:
    """Where the axis ends: nearly all blends are nearer."""
    return max(float(np.quantile(_relative(own), 0.98)) for own in found.values())


def _interactive(found: dict[str, dict[str, Tensor]]) -> Any:
    figure = interactive(
        "Least distance from blends to real images of another label",
        "distance, relative to the mean of real images",
        "blends (%)",
    )
    for (name, own), colour in zip(found.items(), colours(), strict=False):
        relative = _relative(own)
        thin = np.linspace(0, len(relative) - 1, min(1000, len(relative))).round().astype(int)
        figure.add_scatter(x=relative[thin], y=100 * (thin + 1) / len(relative), name=name, line_color=colour)
    return figure
