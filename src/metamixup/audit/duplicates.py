"""Images that are nearly the same and have different labels: at least one of the two labels is wrong."""

from collections.abc import Iterator
from itertools import combinations

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

SIDE = 16
NEAR = 0.02  # mean difference of two pixels, as a share of the full range
CROWD = 40  # images of one hash beyond which they are too plain to be told apart by it


def duplicates(images: Tensor, labels: Tensor) -> list[tuple[int, int]]:
    """Pairs of positions, images (N, C, H, W), labels (N,)."""
    small = thumbnails(images)
    return [pair for group in alike(small) for pair in _pairs(group, small, labels)]


def thumbnails(images: Tensor) -> Tensor:
    """(N, 256) grey values in 0…1."""
    full = 255.0 if images.dtype == torch.uint8 else float(images.abs().max().clamp_min(1e-6))
    parts = [adaptive_avg_pool2d(part.float().mean(1), SIDE).flatten(1) for part in images.split(512)]
    return torch.cat(parts) / full


def alike(small: Tensor) -> Iterator[list[int]]:
    """Groups of positions with the same picture of what is brighter than its right neighbour, seen coarsely: slightly
    changed copies share it, and only those are compared pixel by pixel."""
    coarse = adaptive_avg_pool2d(small.view(-1, 1, SIDE, SIDE), (8, 9)).squeeze(1)
    bits = (coarse[:, :, 1:] - coarse[:, :, :-1] > 0.004).flatten(1)
    groups: dict[bytes, list[int]] = {}
    for position, row in enumerate(bits.numpy()):
        groups.setdefault(row.tobytes(), []).append(position)
    return (group for group in groups.values() if 1 < len(group) <= CROWD)


def _pairs(group: list[int], small: Tensor, labels: Tensor) -> Iterator[tuple[int, int]]:
    for first, second in combinations(group, 2):
        if labels[first] != labels[second] and float((small[first] - small[second]).abs().mean()) < NEAR:
            yield first, second
