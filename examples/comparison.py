"""The loop that the examples share: a task trained plainly, with MixUp and with MetaMixUp, over several seeds.

All three see the same labels. MetaMixUp holds a share of them out as its meta set; the others train on all of them.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import mean, stdev

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from metamixup import Beta, Fixed, MetaMixUp
from metamixup.integrations.meta_batches import MetaBatches

Pair = tuple[Tensor, Tensor]
SGD = partial(torch.optim.SGD, lr=0.05, momentum=0.9, weight_decay=1e-4)
METHODS = {"no mixing": Fixed(1.0), "MixUp, α = 1": Beta(1.0), "MetaMixUp": None}


@dataclass
class Task:
    """What is learned: `draw(seed)` gives (train, test), `model()` a fresh network, `error` what is reported."""

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

    def error(self, outputs: Tensor, y: Tensor) -> float:
        """Wrong classes in per cent; for regression the mean absolute error."""
        if self.num_classes is None:
            return float((outputs - y).abs().mean())
        return 100 * float((outputs.argmax(1) != y).float().mean())


def train(task: Task, method: str, data: Pair, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    x, y = data
    policy = METHODS[method]
    held_out = round(task.meta_share * len(x)) if policy is None else 0  # the order of `data` is random already
    meta = MetaBatches((x[:held_out], y[:held_out]) if held_out else data, seed)
    model = task.model()
    optimizer = task.optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, task.epochs)
    mixer = MetaMixUp(model, task.num_classes, policy=policy, loss=task.loss, mix_at=task.mix_at, seed=seed)
    for _ in range(task.epochs):
        for rows in (held_out + torch.randperm(len(x) - held_out)).split(task.batch_size):
            mixed = mixer(x[rows], y[rows], *meta.next(task.batch_size), lr=optimizer)
            loss = task.loss(mixed.outputs(model), mixed.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def compare(task: Task, seeds: int) -> dict[str, list[float]]:
    """Error of every method on every seed."""
    errors: dict[str, list[float]] = {method: [] for method in METHODS}
    for seed in range(seeds):
        data, (x_test, y_test) = task.draw(seed)
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
