"""Predictions for every sample by networks that were not trained on it: a network learns wrong labels by heart, so what
it says of the samples that it was trained on tells too little of them.

The samples are dealt into folds; for each fold a small network is trained by MixUp on the others.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from metamixup.mixing import mix, soft_cross_entropy, soft_labels
from metamixup.policy.beta import sample_beta
from metamixup.seeding import derived_generator, derived_seed

Inputs = Callable[[Tensor, torch.Generator | None], Tensor]  # samples by index, augmented if a generator is given
Fold = tuple[Tensor, Tensor, Tensor]  # positions, (n,); log p, (n, C); features, (n, F)
BATCH, LOOK, NEAREST = 64, 500, 20


@dataclass(frozen=True)
class Plan:
    """How the networks of an audit are trained.

    folds: so many networks, each trained without one fold.
    epochs: passes over the others; up to four times as many where they make fewer than `steps` steps.
    lr: the highest learning rate; it rises over a fifth of the run and falls to nothing.
    alpha: of MixUp's Beta(α, α).
    """

    folds: int = 4
    epochs: int = 10
    steps: int = 600
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    alpha: float = 1.0


@dataclass(frozen=True)
class Predictions:
    """log_p, votes: (N, C); distance: (N,), from the nearest samples of the same fold, in units of its median."""

    log_p: Tensor
    votes: Tensor
    distance: Tensor

    def take(self, index: Tensor) -> "Predictions":
        return Predictions(self.log_p[index], self.votes[index], self.distance[index])


def out_of_sample(
    make: Callable[[], nn.Module],
    inputs: Inputs,
    labels: Tensor,
    num_classes: int,
    plan: Plan,
    seed: int = 0,
    heard: Callable[[float], None] = lambda share: None,
) -> Predictions:
    """Of every sample by the network that was not trained on it.

    labels: (N,); heard: is told the share that is done.
    """
    return among_their_fold(held_out(make, inputs, labels, num_classes, plan, seed, heard), labels, num_classes)


def held_out(
    make: Callable[[], nn.Module],
    inputs: Inputs,
    labels: Tensor,
    num_classes: int,
    plan: Plan,
    seed: int = 0,
    heard: Callable[[float], None] = lambda share: None,
) -> Iterator[Fold]:
    """Each fold, seen by the network that was trained on the others."""
    fold = deal(labels, plan.folds, seed)
    for k in range(plan.folds):
        torch.manual_seed(derived_seed(seed, "audit", k))
        model, rest = make(), (fold != k).nonzero()[:, 0]
        for done in train(model, inputs, labels, rest, num_classes, plan, derived_generator(seed, "fold", k)):
            heard((k + done) / plan.folds)
        held = (fold == k).nonzero()[:, 0]
        yield held, *look(model, inputs, held)


def among_their_fold(folds: Iterable[Fold], labels: Tensor, num_classes: int) -> Predictions:
    """Every sample is compared with the others of its fold: features of two networks are not alike. labels: (N,)."""
    log_p, votes = torch.empty(2, len(labels), num_classes)
    distance = torch.empty(len(labels))
    for held, said, features in folds:
        log_p[held] = said
        votes[held], distance[held] = neighbours(features, labels[held], num_classes)
    return Predictions(log_p, votes, distance)


def deal(labels: Tensor, folds: int, seed: int) -> Tensor:
    """(N,) the fold of each sample; every class is spread over all of them as evenly as can be."""
    order = torch.randperm(len(labels), generator=derived_generator(seed, "folds"))
    order = order[labels[order].argsort(stable=True)]
    fold = torch.empty(len(labels), dtype=torch.int64)
    fold[order] = torch.arange(len(labels)) % folds
    return fold


def train(
    model: nn.Module,
    inputs: Inputs,
    labels: Tensor,
    index: Tensor,
    num_classes: int,
    plan: Plan,
    random: torch.Generator,
) -> Iterator[float]:
    """MixUp on these samples; gives the share that is done, now and then."""
    size = min(BATCH, len(index))
    each = len(index) // size
    steps = max(plan.epochs * each, min(plan.steps, 4 * plan.epochs * each))
    optimizer = torch.optim.SGD(
        model.parameters(), plan.lr, plan.momentum, weight_decay=plan.weight_decay, nesterov=True
    )
    order = index
    model.to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    for step in range(steps):
        if step % each == 0:
            order = index[torch.randperm(len(index), generator=random)]
            yield step / steps
        batch = order[step % each * size :][:size]
        lam, partner = sample_beta(plan.alpha, plan.alpha, size, random), torch.randperm(size, generator=random)
        x, y = _laid_out(inputs(batch, random)), soft_labels(labels[batch], num_classes)
        for group in optimizer.param_groups:
            group["lr"] = plan.lr * rate(step / steps)
        optimizer.zero_grad(set_to_none=True)
        soft_cross_entropy(model(mix(x, x[partner], lam)), mix(y, y[partner], lam)).backward()
        optimizer.step()


def rate(done: float, rise: float = 0.2) -> float:
    """The learning rate as a share of its peak: up in a line, down in half a cosine."""
    return (done + 0.01) / (rise + 0.01) if done < rise else (1 + math.cos(math.pi * (done - rise) / (1 - rise))) / 2


def neighbours(features: Tensor, labels: Tensor, num_classes: int) -> tuple[Tensor, Tensor]:
    """The share of each label among the nearest 20 samples, (n, C), and their mean distance, (n,). features: (n, F)."""
    z = torch.nn.functional.normalize(features - features.mean(0), dim=1)
    count = min(NEAREST, len(z) - 1)
    votes, distance = torch.empty(len(z), num_classes), torch.empty(len(z))
    for rows in torch.arange(len(z)).split(LOOK):
        alike = z[rows] @ z.T
        alike[torch.arange(len(rows)), rows] = -torch.inf
        near = alike.topk(count, 1)
        given = torch.nn.functional.one_hot(labels[near.indices], num_classes).float().sum(1)
        votes[rows] = (given + 0.5) / (count + 0.5 * num_classes)
        distance[rows] = (1 - near.values).clamp_min(0).mean(1)
    return votes, distance / distance.median().clamp_min(1e-6)


@torch.no_grad()
def look(model: nn.Module, inputs: Inputs, index: Tensor) -> tuple[Tensor, Tensor]:
    """(n, C) log p and (n, F) features."""
    model.eval()
    parts = [_answers(model, _laid_out(inputs(part, None))) for part in index.split(LOOK)]
    logits, features = (torch.cat(column) for column in zip(*parts, strict=True))
    return logits.log_softmax(1), features


def _laid_out(x: Tensor) -> Tensor:
    """Images in channels_last: that nearly halves a network's step on CPU."""
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


def _answers(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Logits and features; a network that names no features is looked at by its logits."""
    if callable(getattr(model, "features", None)) and hasattr(model, "classifier"):
        features = model.features(x)  # type: ignore[operator]
        return model.classifier(features), features.flatten(1)  # type: ignore[operator]
    logits = model(x)
    return logits, logits
