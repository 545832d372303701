"""The loop that the examples share: a task trained plainly, with MixUp and with TrustMix, over several seeds.

All three train on the same samples. TrustMix is told which tenth of them is its meta set; where labels are made wrong,
that tenth stays clean, and the others have it too.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from metamixup import Beta, Fixed, MetaMixUp

Pair = tuple[Tensor, Tensor]
METHODS = ("no mixing", "MixUp, α = 1", "TrustMix")
SGD = partial(torch.optim.SGD, lr=0.05, momentum=0.9, weight_decay=1e-4)


@dataclass
class Task:
    """What is learned: `draw(seed)` gives (train, test), `model()` a fresh network; `wrong` is the share of the
    training labels that is replaced at random, the first `meta_share` excepted."""

    name: str
    draw: Callable[[int], tuple[Pair, Pair]]
    model: Callable[[], nn.Module]
    num_classes: int | None
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    mix_at: str = "input"
    epochs: int = 60
    optimizer: Callable[..., torch.optim.Optimizer] = SGD
    batch_size: int = 32
    meta_share: float = 0.1
    wrong: float = 0.0

    def mixer(self, method: str, model: nn.Module, seed: int, **given: Any) -> MetaMixUp:
        """No mixing and MixUp are policies like any other; TrustMix is what a user gets who names none
        and has classes."""
        options = given if self.loss is cross_entropy else {"loss": self.loss, **given}
        policy = {"no mixing": Fixed(1.0), "MixUp, α = 1": Beta(1.0), "TrustMix": None}[method]
        return MetaMixUp(model, self.num_classes, policy=policy, mix_at=self.mix_at, seed=seed, **options)

    def error(self, outputs: Tensor, y: Tensor) -> float:
        """Wrong classes in per cent; for regression the mean absolute error."""
        if self.num_classes is None:
            return float((outputs - y).abs().mean())
        return 100 * float((outputs.argmax(1) != y).float().mean())


def train(task: Task, method: str, data: Pair, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    x, y = data
    clean = round(task.meta_share * len(x))  # the order of `data` is random already
    model = task.model()
    optimizer = task.optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, task.epochs)
    mixer = task.mixer(method, model, seed, meta=(x[:clean], y[:clean]), lr=optimizer)
    for _ in range(task.epochs):
        for rows in torch.randperm(len(x)).split(task.batch_size):
            mixed = mixer(x[rows], y[rows], rows)
            loss = task.loss(mixed.outputs(model), mixed.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def spoil(task: Task, data: Pair, seed: int) -> Pair:
    """A share of the labels behind the meta set, replaced by classes drawn at random."""
    x, y = data
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.rand(len(y), generator=generator) < task.wrong
    chosen[: round(task.meta_share * len(y))] = False
    return x, torch.where(chosen, torch.randint(0, task.num_classes or 1, y.shape, generator=generator), y)


def compare(task: Task, seeds: int) -> dict[str, list[float]]:
    """Error of every method on every seed."""
    errors: dict[str, list[float]] = {method: [] for method in METHODS}
    for seed in range(seeds):
        data, (x_test, y_test) = task.draw(seed)
        data = spoil(task, data, seed) if task.wrong else data
        for method, found in errors.items():
            model = train(task, method, data, seed)
            found.append(task.error(model(x_test).detach(), y_test))
    return errors


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Markdown: a line a task, mean ± deviation over the seeds."""
    lines = ["| task | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 1) + "|"]
    for name, errors in results.items():
        lines.append(f"| {name} | " + " | ".join(_cell(found) for found in errors.values()) + " |")
    return "\n".join(lines)


def _cell(found: list[float]) -> str:
    return f"{mean(found):.2f} ± {stdev(found) if len(found) > 1 else 0:.2f}"


def main(tasks: list[Task]) -> dict[str, dict[str, list[float]]]:
    """`--quick` is two epochs and one seed: enough to see that it runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="two epochs, one seed")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = {}
    for task in tasks:
        if options.quick:
            task.epochs = 2
        results[task.name] = compare(task, 1 if options.quick else options.seeds)
    print(table(results))
    return results
