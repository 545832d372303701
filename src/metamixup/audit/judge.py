"""From predictions to P(the label is wrong).

The model of mistakes is that of trust/division.py: P(c | sample, label y) ∝ q_c · T[c, y], where T, how often class c
is mistaken for y, is learned from all labels, and q is what networks and neighbours say (explanations.py).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from metamixup.audit.cross_validation import Predictions
from metamixup.audit.explanations import Evidence, Explanation, fitting_lean, gathered, likeliest, search, weights
from metamixup.audit.mistakes import learn_confusions, true_and_given
from metamixup.seeding import derived_generator

SEARCHED = 5000  # samples that the search for τ and γ looks at
AT_ONCE = 4_000_000  # numbers of q that are held at once
RESAMPLED = 20


@dataclass(frozen=True)
class Judgement:
    """truth: (N, C) P(true class | sample, label); wrong: (N,); low, high: the 95 % interval of
    the share of wrong labels."""

    truth: Tensor
    wrong: Tensor
    low: float = 0.0
    high: float = 1.0

    @property
    def share(self) -> float:
        return float(self.wrong.mean())

    def likely(self, labels: Tensor) -> Tensor:
        """(N,) the likeliest class beside the given one."""
        return self.truth.scatter(1, labels[:, None], -1).argmax(1)


@torch.inference_mode()
def judge(found: Predictions, labels: Tensor, seed: int = 0) -> Judgement:
    """labels: (N,) as given. The mean over all τ and γ that explain the labels about as well, each by its likelihood:
    few samples hardly tell them apart, and the share of wrong labels differs between them."""
    order = labels.argsort(stable=True)
    some = torch.randperm(len(labels), generator=derived_generator(seed, "judge"))[:SEARCHED].sort().values
    known = gathered(found, labels, order[some])
    lean = fitting_lean(known, seed)
    plausible = search(known, lean)
    truth, unsure = averaged(gathered(found, labels, order), plausible, lean)
    truth = torch.empty_like(truth).index_copy_(0, order, truth)
    wrong = truth.scatter(1, labels[:, None], 0).sum(1)
    spread = spread_of_share(known, likeliest(plausible), lean, seed) * len(some) / len(labels)
    return Judgement(truth, wrong, *interval(wrong, spread + unsure))


def averaged(known: Evidence, plausible: Sequence[Explanation], lean: float) -> tuple[Tensor, float]:
    """P(true class), (n, C) in float64; and the variance of the share of wrong labels between the explanations."""
    weight, truth, shares = weights(plausible), torch.zeros_like(known.log_p), []
    size = max(1, AT_ONCE // truth.numel())
    for k in range(0, len(plausible), size):
        each = truths(known, plausible[k : k + size], lean)
        truth += torch.einsum("b,bcn->cn", weight[k : k + size].float(), each)
        shares.append(1 - each.gather(1, known.given.labels.expand(len(each), 1, -1)).double().mean((1, 2)))
    share = torch.cat(shares)
    return truth.T.double(), float((weight * (share - (weight * share).sum()) ** 2).sum())


def truths(known: Evidence, explanations: Sequence[Explanation], lean: float) -> Tensor:
    """P(true class | sample, label), (B, C, n)."""
    q = known.beliefs([one.powers for one in explanations])
    start = torch.stack([one.confusion for one in explanations])
    confusions = learn_confusions(q, known.given, torch.full((len(q),), lean), start)
    joint = q.mul_(confusions[:, :, known.given.labels])
    return joint.div_(joint.sum(1, keepdim=True))


def spread_of_share(known: Evidence, best: Explanation, lean: float, seed: int) -> float:
    """The variance of the share of wrong labels, with T from samples drawn anew again and again."""
    q, count = known.beliefs([best.powers])[0], len(known.given.labels)
    drawn = torch.randint(count, (RESAMPLED, count), generator=derived_generator(seed, "interval"))
    times = torch.zeros(RESAMPLED, count).scatter_add_(1, drawn, torch.ones(RESAMPLED, count))
    given, start = replace(known.given, weights=times), best.confusion.expand(RESAMPLED, -1, -1)
    confusions = learn_confusions(q, given, torch.full((RESAMPLED,), lean), start)
    right = true_and_given(q, given, confusions).diagonal(dim1=1, dim2=2).sum(1)
    return float((right / count).var())


def interval(wrong: Tensor, variance: float) -> tuple[float, float]:
    """Of the share, with chance in each label besides; wrong: (N,)."""
    share, chance = float(wrong.mean()), float((wrong * (1 - wrong)).mean()) / len(wrong)
    half = 1.96 * math.sqrt(variance + chance)
    return max(0.0, share - half), min(1.0, share + half)
