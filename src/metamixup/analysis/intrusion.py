"""Manifold intrusion (Section IV-D): how near mixed samples come to real samples of other labels.

For each mixed sample the least Euclidean distance in feature space to any real sample whose label is neither of its
pair's two. Exact: float32 matrix products only sort out who can be nearest, the distances are taken in float64.
"""

import torch
from torch import Tensor

BLOCK = 2048


def least_distances(mixed: Tensor, pair: Tensor, real: Tensor, labels: Tensor) -> Tensor:
    """(M,) least distance from each mixed sample to a real sample of another label; infinite where there is none.

    mixed: (M, D) features; pair: (M, 2) the labels of both partners; real: (N, D) features; labels: (N,).
    """
    if mixed.shape[1] != real.shape[1]:
        raise ValueError(f"features of {mixed.shape[1]} and {real.shape[1]} dimensions cannot be compared")
    # Centred features have smaller norms, so float32 products leave fewer candidates to check.
    centre = real.mean(0, keepdim=True, dtype=torch.float64).to(real.dtype)
    nearest = torch.full((len(mixed),), torch.inf, dtype=torch.float64)
    for label in labels.unique():
        others = (pair != label).all(1).nonzero().squeeze(1)
        same = (labels == label).nonzero().squeeze(1)
        for rows in others.split(BLOCK):
            for block in same.split(BLOCK):
                _lower(nearest, rows, mixed[rows], real[block], centre)
    return nearest.sqrt()


def _lower(nearest: Tensor, rows: Tensor, mixed: Tensor, real: Tensor, centre: Tensor) -> None:
    """Lower nearest[rows], squared distances, by those from mixed (m, D) to real (n, D). Changes `nearest`."""
    a, b = (mixed - centre).float(), (real - centre).float()
    a_norm, b_norm = a.norm(dim=1), b.norm(dim=1)
    rough = torch.addmm((b_norm**2).expand(len(a), -1), a, b.T, alpha=-2.0)  # |a − b|² − |a|²
    # |rounding of a product of D terms| ≤ D·ε·|a|·|b|; a margin of both sides' errors loses no candidate.
    margin = (a.shape[1] + 8) * torch.finfo(torch.float32).eps * (a_norm + b_norm.max()) ** 2
    best = torch.minimum(rough.amin(1) + margin, nearest[rows].float() * (1 + 1e-6) - a_norm**2)
    row, column = (rough <= (best + margin)[:, None]).nonzero(as_tuple=True)
    for r, c in zip(row.split(BLOCK), column.split(BLOCK), strict=True):
        squared = (mixed[r].double() - real[c].double()).square().sum(1)
        nearest.scatter_reduce_(0, rows[r], squared, "amin")


def summary(distances: Tensor) -> dict[str, float | int]:
    """The two numbers of the paper's figure, with the quantiles between them; `without` had no other label to meet."""
    finite = distances[distances.isfinite()]
    if not len(finite):
        return {"samples": 0, "without": len(distances)}
    low, middle, high = (float(q) for q in finite.quantile(torch.tensor([0.05, 0.5, 0.95], dtype=finite.dtype)))
    numbers = {"mean": float(finite.mean()), "minimum": float(finite.min()), "q05": low, "median": middle, "q95": high}
    return {"samples": len(finite), "without": len(distances) - len(finite), **numbers}
