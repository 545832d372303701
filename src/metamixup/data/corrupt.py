"""Wrong and rare labels, for the robustness test bed: seeded, and it is known which labels are wrong."""

import torch
from torch import Tensor

from metamixup.data.splits import shuffled_by_class
from metamixup.errors import UserError
from metamixup.seeding import derived_generator


def replace_labels(labels: Tensor, num_classes: int, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Give a share of the samples another class at random. labels: (N,); returns new labels and a mask of the wrong.

    The replacement is never the true class, so that exactly that share is wrong.
    """
    wrong = _chosen(len(labels), share, seed)
    offset = torch.randint(1, max(num_classes, 2), labels.shape, generator=derived_generator(seed, "corrupt", "offset"))
    return torch.where(wrong, (labels + offset) % num_classes, labels), wrong


def swap_neighbours(labels: Tensor, num_classes: int, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Give a share of the samples the next class (the last one becomes the first): noise with a structure."""
    wrong = _chosen(len(labels), share, seed)
    return torch.where(wrong, (labels + 1) % num_classes, labels), wrong


def long_tail(labels: Tensor, num_classes: int, ratio: float, seed: int) -> Tensor:
    """Positions of a long-tailed subset: class c keeps its share ratio^(−c/(C−1)), so the first class has `ratio`
    times as many images as the last. At least one image of a class is kept. labels: (N,); returns (n,), sorted."""
    if ratio < 1:
        raise UserError(f"the long tail's ratio is at least 1, not {ratio}")
    pools = shuffled_by_class(labels, num_classes, derived_generator(seed, "corrupt", "tail"))
    shares = [ratio ** (-c / max(num_classes - 1, 1)) for c in range(num_classes)]
    kept = [pool[: max(1, round(len(pool) * share))] for pool, share in zip(pools, shares, strict=True)]
    return torch.cat(kept).sort().values


def _chosen(total: int, share: float, seed: int) -> Tensor:
    """(N,) bool with exactly round(share·N) set."""
    if not 0 <= share <= 1:
        raise UserError(f"the share of wrong labels lies between 0 and 1, not {share}")
    chosen = torch.zeros(total, dtype=torch.bool)
    chosen[torch.randperm(total, generator=derived_generator(seed, "corrupt"))[: round(share * total)]] = True
    return chosen
