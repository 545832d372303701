"""From scores to trust: P(label is right | score), estimated from the scores of the clean meta images.

Meta images are clean, and their scores are made in the same way. Scores that training samples and meta images have
equally often belong to right labels: trust 1. Scores that training samples have more often than meta images belong
mostly to wrong ones. On clean data both have one distribution, so that trust is 1 everywhere.
"""

import torch
from torch import Tensor

BINS = 20
BENEFIT = 1.0  # of the doubt: deviations by which clean scores may have come out too few by chance
CHANCE, CERTAIN = 2.0, 3.0  # deviations by which clean scores are missing at the low end: what chance does, what not


class Curve:
    """Trust as an increasing function of the score, linear between `knots`. knots, trust: (BINS,)."""

    def __init__(self, knots: Tensor, trust: Tensor):
        self.knots, self.trust = knots, trust

    def __call__(self, score: Tensor) -> Tensor:
        right = torch.searchsorted(self.knots, score).clamp(1, len(self.knots) - 1)
        low, high = self.knots[right - 1], self.knots[right]
        share = ((score - low) / (high - low).clamp_min(1e-12)).clamp(0, 1)
        return torch.lerp(self.trust[right - 1], self.trust[right], share)


def calibrate(scores: Tensor, clean: Tensor) -> Curve:
    """P(label right | score) from the scores of all samples, (N,), and of samples known to be right, (M,).

    It is π·f_clean/f_all in bins that hold equally many samples each, made monotone; the upper half of the samples is
    taken to be right, which fixes π. Clean samples that were not trained on can score higher as a whole; the best of
    both are then laid on each other first. A few clean images leave gaps by chance: each has the benefit of the doubt,
    and all of them count as far as they go beyond chance together.
    """
    best = torch.tensor(0.9, device=scores.device)
    clean = clean - (clean.quantile(best) - scores.quantile(best)).clamp_min(0)
    edges = torch.quantile(scores, torch.linspace(0, 1, BINS + 1, device=scores.device))
    inner = edges[1:-1].contiguous()
    here, there = (torch.bincount(torch.bucketize(s, inner), minlength=BINS) for s in (scores, clean))
    expected = here / here.sum() * len(clean)
    found, usual = increasing(there.float(), expected)
    ratio = (found.sqrt() + BENEFIT / 2).square() / usual
    upper = (there[BINS // 2 :].sum() / expected[BINS // 2 :].sum().clamp_min(1e-12)).clamp_min(1)
    doubt = ((missing(there / upper, expected) - CHANCE) / (CERTAIN - CHANCE)).clamp(0, 1)
    knots = (edges[1:] + edges[:-1]) / 2
    knots[0], knots[-1] = edges[1], edges[-2]  # the outer bins reach far out: their inner edge is the better knot
    return Curve(knots, (1 - doubt * (1 - (ratio / upper).clamp(0, 1))).cummax(0).values)


def missing(counts: Tensor, expected: Tensor) -> Tensor:
    """By how many standard deviations the lowest bins together fall short of what is expected there, for as many of the
    lower half as show it best."""
    short = (expected - counts).cumsum(0) / expected.cumsum(0).clamp_min(1e-12).sqrt()
    return short[: BINS // 2].max()


def increasing(counts: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Counts and what was expected, so that their ratio is the increasing curve nearest to counts/expected: neighbours
    that fall are pooled (isotonic regression), and so is a bin that ties have left empty."""
    blocks: list[tuple[float, float, int]] = []  # counts, expected, bins
    for count, weight in zip(counts.tolist(), expected.tolist(), strict=True):
        blocks.append((count, weight, 1))
        while len(blocks) > 1 and _falls(*blocks[-2:]):
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    pooled = [block[:2] for block in blocks for _ in range(block[2])]
    found, usual = torch.tensor(pooled, device=counts.device).T
    return found, usual


def _falls(before: tuple[float, float, int], after: tuple[float, float, int]) -> bool:
    return before[1] == 0 or after[1] == 0 or before[0] * after[1] >= after[0] * before[1]
