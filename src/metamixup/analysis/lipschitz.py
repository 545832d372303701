"""Proposition 1 (Section III-A) checked numerically: |f(λx+(1−λ)x′) − λf(x) − (1−λ)f(x′)| ≤ λ(1−λ)κ/2 · ‖x−x′‖².

f is one output of a smooth network, κ a Lipschitz constant of its gradient: certified, or the largest curvature met
on the very segments that are checked (the proof uses no more than that).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import jvp

from metamixup.mixing import mix

Net = Callable[[Tensor], Tensor]
# What the check forgives, relative to the bound. Certified κ: float64 rounding only. Along segments: the maximum is
# taken over finitely many points, and between two of them the curvature may be a little larger.
CERTIFIED_TOLERANCE = 1e-9
SEGMENT_TOLERANCE = 0.02
ROWS = 512  # samples that go through a network at once


def gap(net: Net, x: Tensor, other: Tensor, lam: Tensor) -> Tensor:
    """|f(λx+(1−λ)x′) − λf(x) − (1−λ)f(x′)| of every output, (B, C)."""
    return (net(mix(x, other, lam)) - mix(net(x), net(other), lam)).abs()


def bound(kappa: Tensor, x: Tensor, other: Tensor, lam: Tensor) -> Tensor:
    """λ(1−λ)κ/2 · ‖x−x′‖², (B, C); kappa: (C,) or (B, C)."""
    factor = lam * (1 - lam) / 2 * (x - other).flatten(1).square().sum(1)
    return factor[:, None] * kappa


def segment_kappa(net: Net, x: Tensor, other: Tensor, points: int = 33) -> Tensor:
    """(B, C) the largest |d²f/dt²| / ‖x−x′‖² at `points` places of each segment x′ + t(x−x′)."""
    direction = x - other
    largest = torch.zeros(())
    for part in torch.linspace(0, 1, points, dtype=x.dtype).split(max(1, ROWS // len(x))):
        at = torch.cat([other + t * direction for t in part])
        found = second_derivative(net, at, direction.repeat(len(part), *[1] * (x.ndim - 1))).abs()
        largest = torch.maximum(largest, found.view(len(part), len(x), -1).amax(0))
    return largest / direction.flatten(1).square().sum(1).clamp_min(torch.finfo(x.dtype).tiny)[:, None]


def second_derivative(net: Net, at: Tensor, direction: Tensor) -> Tensor:
    """d²f(at + t·direction)/dt² at t = 0 of every output, (B, C): forward mode twice."""

    def slope(z: Tensor) -> Tensor:
        return jvp(net, (z,), (direction,))[1]

    return jvp(slope, (at,), (direction,))[1]


def violations(gaps: Tensor, bounds: Tensor, tolerance: float) -> int:
    """How many gaps exceed their bound by more than the tolerance; any is a bug."""
    floor = 1e-12 * gaps.abs().amax() if gaps.numel() else 0.0
    return int((gaps > bounds * (1 + tolerance) + floor).sum())
