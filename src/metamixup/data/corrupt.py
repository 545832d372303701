"""Wrong and rare labels, for the robustness test bed: seeded, and it is known which labels are wrong."""

from collections.abc import Sequence

import torch
from torch import Tensor

from metamixup.data.splits import shuffled_by_class
from metamixup.errors import UserError
from metamixup.seeding import derived_generator

CONFUSED = {"truck": "automobile", "bird": "airplane", "deer": "horse", "cat": "dog", "dog": "cat"}


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


def confuse_pairs(labels: Tensor, classes: Sequence[str], share: float, seed: int) -> Tensor:
    """Give a share of the samples the class that people take theirs for: truck → automobile, bird → airplane, deer →
    horse, cat ↔ dog (Patrini et al. 2017). Other classes keep their labels, so fewer are wrong."""
    numbers = {name: number for number, name in enumerate(classes)}
    if not all(name in numbers for pair in CONFUSED.items() for name in pair):
        raise UserError(
            f"corrupt.kind = 'asymmetric' is for CIFAR-10's classes; there is no {', '.join(CONFUSED)} here"
        )
    taken_for = torch.arange(len(classes))
    for name, other in CONFUSED.items():
        taken_for[numbers[name]] = numbers[other]
    return torch.where(_chosen(len(labels), share, seed), taken_for[labels], labels)


def confuse_by_image(images: Tensor, labels: Tensor, num_classes: int, share: float, seed: int) -> Tensor:
    """Noise that depends on the image (Xia et al. 2020): each has a rate of its own, N(share, 0.1²), and a random
    projection of its pixels for each class says which other class it is taken for."""
    generator = derived_generator(seed, "corrupt", "instance")
    rate = (share + 0.1 * torch.randn(len(labels), generator=generator)).clamp(0, 1)
    pixels = images.flatten(1).float()
    pixels = (pixels - pixels.mean(0)) / pixels.std(0).clamp_min(1e-6) / pixels.shape[1] ** 0.5
    towards = torch.empty(len(labels), num_classes)
    for c in range(num_classes):
        projection = torch.randn(pixels.shape[1], num_classes, generator=generator)
        towards[labels == c] = 3 * pixels[labels == c] @ projection
    towards.scatter_(1, labels[:, None], -torch.inf)
    others = torch.multinomial(towards.softmax(1), 1, generator=generator)[:, 0]
    return torch.where(torch.rand(len(labels), generator=generator) < rate, others, labels)


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
