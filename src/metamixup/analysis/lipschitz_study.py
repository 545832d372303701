"""Proposition 1 on networks (Section III-A): gaps against bounds, for small certified networks trained here and for the
runs' own networks with their kinks rounded off."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from metamixup.analysis.lipschitz import CERTIFIED_TOLERANCE, SEGMENT_TOLERANCE, bound, gap, segment_kappa, violations
from metamixup.analysis.rebuild import Rebuilt
from metamixup.analysis.smooth import RoundedOff, TwoLayer
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import COLUMN, REFERENCE, colours, label, panels, plain, styled
from metamixup.mixing import draw_partners, mix, soft_cross_entropy, soft_labels
from metamixup.policy.beta import sample_beta
from metamixup.seeding import derived_generator

SEGMENTS = 96
SHARPNESS = 10.0
HIDDEN, IMAGES, STEPS, BATCH = 64, 2000, 300, 128


def lipschitz_study(runs: list[Rebuilt], segments: int = SEGMENTS) -> Study:
    """The segments join random test images; λ is uniform; f is the output of the first image's own class."""
    found: dict[str, dict[str, Any]] = {}
    for mixing in (False, True):
        found[f"certified, {'MixUp' if mixing else 'no mixing'}"] = _certified(runs[0], mixing, segments)
    for run in runs:
        found[f"rounded off: {run.records.name}"] = _rounded_off(run, segments)
    numbers = {name: {k: v for k, v in own.items() if not isinstance(v, Tensor)} for name, own in found.items()}
    return Study("lipschitz", {"segments": segments, "networks": numbers}, _figure(found), _interactive(found))


def _segments(run: Rebuilt, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x, x′ (B, …), λ and the class of x, (B,), in float64."""
    generator = derived_generator(0, "segments")
    index = torch.randint(0, len(run.found.test), (2 * count,), generator=generator)
    parts = list(run.inputs(run.found.test, index))
    x, y = torch.cat([x for x, _ in parts]).double(), torch.cat([y for _, y in parts])
    return x[:count], x[count:], torch.rand(count, generator=generator, dtype=torch.float64), y[:count]


def _certified(run: Rebuilt, mixing: bool, count: int) -> dict[str, Any]:
    x, other, lam, y = _segments(run, count)
    net = _train_small(run, mixing)
    with torch.no_grad():
        kappa = net.certified_kappa()
        bounds = bound(kappa, x, other, lam)
        return _checked(gap(net, x, other, lam), bounds, y, CERTIFIED_TOLERANCE) | {
            "kappa": "certified",
            "kappa_largest": float(kappa.max()),
            "kappa_on_segments": float(segment_kappa(net, x, other, 17).max()),
        }


def _rounded_off(run: Rebuilt, count: int) -> dict[str, Any]:
    x, other, lam, y = _segments(run, count)
    net = run.model.double()
    with torch.no_grad(), RoundedOff(SHARPNESS):
        kappa = segment_kappa(net, x, other)
        found = _checked(gap(net, x, other, lam), bound(kappa, x, other, lam), y, SEGMENT_TOLERANCE)
    net.float()
    return found | {"kappa": "largest on each segment", "kappa_largest": float(kappa.max()), "sharpness": SHARPNESS}


def _checked(gaps: Tensor, bounds: Tensor, y: Tensor, tolerance: float) -> dict[str, Any]:
    """All outputs are checked; the figure shows each segment's own class."""
    own = torch.arange(len(y)), y
    return {
        "tolerance": tolerance,
        "checked": gaps.numel(),
        "violations": violations(gaps, bounds, tolerance),
        "largest_ratio": float((gaps / bounds.clamp(min=1e-300)).max()),
        "gaps": gaps[own],
        "bounds": bounds[own],
    }


def _train_small(run: Rebuilt, mixing: bool) -> TwoLayer:
    """A softplus network of one hidden layer, trained for a moment on the run's images."""
    parts = list(run.inputs(run.found.train, run.split.train[:IMAGES]))
    x, y = torch.cat([x for x, _ in parts]).double(), torch.cat([y for _, y in parts])
    torch.manual_seed(0)
    net = TwoLayer(x[0].numel(), HIDDEN, run.found.num_classes, nn.Softplus()).double()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for step in range(STEPS):
        generator = derived_generator(0, "small", step)
        chosen = torch.randint(0, len(x), (BATCH,), generator=generator)
        lam = sample_beta(1.0, 1.0, BATCH, generator).double() if mixing else torch.ones(BATCH, dtype=torch.float64)
        partner = draw_partners([BATCH], generator)
        a, b = x[chosen], soft_labels(y[chosen], run.found.num_classes, torch.float64)
        loss = soft_cross_entropy(net(mix(a, a[partner], lam)), mix(b, b[partner], lam))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


def _figure(found: dict[str, dict[str, Any]]) -> Any:
    with styled():
        figure, axes = panels(2, width=2 * COLUMN, height=2.7)
        for (name, own), colour in zip(found.items(), colours(), strict=False):
            axis = axes[0] if own["kappa"] == "certified" else axes[1]
            text = plain(name.partition(", ")[2] if axis is axes[0] else name.partition(": ")[2])
            shown = own["gaps"] > 1e-9 * own["gaps"].max()  # an image paired with itself has neither gap nor bound
            axis.scatter(
                own["bounds"][shown], own["gaps"][shown], s=6, color=colour, alpha=0.6, linewidths=0, label=text
            )
        _finish(axes[0], "κ certified, softplus network")
        _finish(axes[1], "κ along each segment, runs' networks")
    return figure


def _finish(axis: Any, title: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    low, high = axis.get_xlim()
    axis.plot([low, high], [low, high], "--", color=REFERENCE, linewidth=1, label="gap = bound")
    label(axis, title, "bound  λ(1−λ)κ/2 · ‖x−x′‖²", "gap  |f(λx+(1−λ)x′) − …|")
    axis.legend(markerscale=2, loc="lower right")


def _interactive(found: dict[str, dict[str, Any]]) -> Any:
    figure = interactive(
        "Proposition 1: gap against bound", "bound", "gap", xaxis_type="log", yaxis_type="log", height=650
    )
    for (name, own), colour in zip(found.items(), colours(), strict=False):
        mark = {"color": colour, "size": 5}
        figure.add_scattergl(x=own["bounds"].numpy(), y=own["gaps"].numpy(), mode="markers", name=name, marker=mark)
    every = np.concatenate([own["bounds"].numpy() for own in found.values()])
    ends = [max(every.min(), 1e-9), every.max()]
    figure.add_scatter(x=ends, y=ends, mode="lines", name="gap = bound", line={"color": REFERENCE, "dash": "dash"})
    return figure
