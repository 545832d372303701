"""How well trust tells wrong labels from right ones, where labels were made wrong on purpose: for the record alone."""

import torch
from torch import Tensor

from metamixup.meta import Stage


def detection(stage: Stage, index: Tensor, wrong: Tensor) -> dict[str, float]:
    """The AUROC of distrust, and the mean trust in right and in wrong labels. Empty where a stage trusts no labels, or
    where all of them are right or wrong.

    index: (n,) training samples; wrong: (n,) whether their labels are.
    """
    trust = stage.trust_of(index)
    wrong = wrong.to(index.device)
    if trust is None or bool(wrong.all()) or not bool(wrong.any()):
        return {}
    found = {"auroc": auroc(-trust, wrong), "right": float(trust[~wrong].mean()), "wrong": float(trust[wrong].mean())}
    return {f"trust_{name}": round(value, 4) for name, value in found.items()}


def auroc(score: Tensor, positive: Tensor) -> float:
    """The chance that a positive has a higher score than a negative; equal ones count half. score, positive: (n,)."""
    _, place, count = torch.unique(score, return_inverse=True, return_counts=True)
    middle = count.cumsum(0).double() - (count - 1) / 2  # the mean rank of those with equal scores
    positives = int(positive.sum())
    above = middle[place][positive].sum() - positives * (positives + 1) / 2
    return float(above / (positives * (len(score) - positives)))
