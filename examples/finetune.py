"""Fine-tuning: train on one half of CIFAR-10's classes, then learn the other half from few images.

Compared on the same few images: training from scratch, tuning all layers slowly, tuning with the first ones frozen.

    python examples/finetune.py --data-dir DATA   # where cifar-10-batches-bin lies; under a minute on one core
    python examples/finetune.py --quick           # the same with the built-in digits, a few steps
"""

import argparse
from dataclasses import dataclass
from statistics import mean

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from metamixup import MetaMixUp, data, models
from metamixup.data.stream import Normalise
from metamixup.models.pretrained import adopt, freeze, parameter_groups


@dataclass(frozen=True)
class Half:
    """Images of five classes, relabelled 0…4. x: (N, C, H, W) normalised; y: (N,)."""

    x: Tensor
    y: Tensor

    def few(self, each: int, seed: int) -> "Half":
        """The first `each` images of every class, in a random order of this seed."""
        order = torch.randperm(len(self.y), generator=torch.Generator().manual_seed(seed))
        rows = torch.cat([order[self.y[order] == c][:each] for c in range(5)])
        return Half(self.x[rows], self.y[rows])


def halves(name: str, data_dir: str | None) -> dict[tuple[str, int], Half]:
    """("train" | "test", first class) → half."""
    found, parts = data.load(name, data_dir), {}
    for split, images in (("train", found.train), ("test", found.test)):
        x = Normalise(found.mean, found.std, images.images)(images.images)
        for first in (0, 5):
            rows = (images.labels >= first) & (images.labels < first + 5)
            parts[split, first] = Half(x[rows], images.labels[rows] - first)
    return parts


def train(model: nn.Module, half: Half, meta: Half, epochs: int, lr: float, slow: float = 1.0) -> nn.Module:
    optimizer = torch.optim.SGD(parameter_groups(model, lr, slow), momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    mixer = MetaMixUp(model, num_classes=5)
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(half.y)).split(32):
            mixed = mixer(half.x[rows], half.y[rows], meta.x, meta.y, lr=optimizer, index=rows)
            optimizer.zero_grad()
            cross_entropy(model(mixed.x), mixed.y).backward()
            optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def error(model: nn.Module, half: Half) -> float:
    model.eval()
    wrong = torch.cat([model(x).argmax(1) != y for x, y in zip(half.x.split(500), half.y.split(500), strict=True)])
    return 100 * float(wrong.float().mean())


WAYS = ("from scratch", "all layers, the early ones slowly", "stem and layer1 frozen")


def tuned(way: str, source: nn.Module, model: nn.Module, half: Half, meta: Half, epochs: int) -> nn.Module:
    if way != "from scratch":
        adopt(model, source, new_head=True)
    if way == "stem and layer1 frozen":
        freeze(model, ["stem", "layer1"])
    return train(model, half, meta, epochs, lr=0.05, slow=0.3 if way.startswith("all") else 1.0)


def compare(parts: dict[tuple[str, int], Half], epochs: int, source_each: int, seeds: int) -> None:
    channels, *size = parts["train", 0].x.shape[1:]

    def fresh(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        return models.build("preact-resnet8-tiny", 5, channels, tuple(size))

    first, other = parts["train", 0], parts["train", 5]
    source = train(fresh(0), first.few(source_each, 0), first.few(10, 0), epochs, lr=0.1)
    print(f"source classes: {error(source, parts['test', 0]):.1f} % error")
    for way in WAYS:
        found = []
        for seed in range(seeds):
            model = tuned(way, source, fresh(seed), other.few(40, seed), other.few(10, seed), 2 * epochs)
            found.append(error(model, parts["test", 5]))
        print(f"{way}: {mean(found):.1f} % error on the other half ({', '.join(f'{e:.1f}' for e in found)})")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="digits and one epoch")
    parser.add_argument("--data-dir")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.quick:
        compare(halves("digits", None), epochs=1, source_each=40, seeds=1)
    else:
        compare(halves("cifar10", options.data_dir), epochs=8, source_each=400, seeds=options.seeds)


if __name__ == "__main__":
    main()
