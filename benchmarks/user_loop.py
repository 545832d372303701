"""What the three lines of the README cost: a loop with a DataLoader, an index and a meta set beside the same loop with
MixUp, over a whole run on one core. Both take turns, twenty steps each; processor seconds, of which the ratio counts.

    python benchmarks/user_loop.py [--batch 128] [--epochs 12] [--images 2000] [--model photo-resnet8]
"""

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

from metamixup import Indexed, MetaMixUp
from metamixup.models import build

CLASSES, SIDE, TURN = 10, 32, 20
Blend = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def images_of(count: int) -> tuple[Tensor, Tensor]:
    """Patches of colour, a kind for each class, under noise: a network learns them within a few epochs."""
    generator = torch.Generator().manual_seed(0)
    kinds = torch.randn(CLASSES, 3, 4, 4, generator=generator).repeat_interleave(8, 2).repeat_interleave(8, 3)
    labels = torch.randint(0, CLASSES, (count,), generator=generator)
    return kinds[labels] + 2 * torch.randn(count, 3, SIDE, SIDE, generator=generator), labels


def mixup(x: Tensor, y: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    lam, partner = torch.rand(()), torch.randperm(len(x))
    soft = one_hot(y, CLASSES).float()
    return lam * x + (1 - lam) * x[partner], lam * soft + (1 - lam) * soft[partner]


def learned(model: nn.Module, optimizer: torch.optim.Optimizer) -> Blend:
    mixer = MetaMixUp(model, CLASSES, meta=images_of(100), lr=optimizer)

    def blend(x: Tensor, y: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        mixed = mixer(x, y, index)
        return mixed.x, mixed.y

    return blend


def turns(name: str, batch: int, epochs: int, images: int, kind: str) -> Iterator[float]:
    """Trains; gives the processor seconds of each turn."""
    torch.manual_seed(0)
    model = build(name, CLASSES, 3, (SIDE, SIDE))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True)
    schedule = CosineAnnealingLR(optimizer, epochs)
    blend = mixup if kind == "MixUp" else learned(model, optimizer)
    loader = DataLoader(Indexed(TensorDataset(*images_of(images))), batch, shuffle=True, drop_last=True)

    def steps() -> Iterator[None]:
        for _ in range(epochs):
            for x, y, index in loader:
                mixed, targets = blend(x, y, index)
                loss = cross_entropy(model(mixed), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                yield
            schedule.step()

    going = steps()
    while True:
        began = time.process_time()
        if sum(1 for _ in islice(going, TURN)) < TURN:
            return
        yield time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--model", default="photo-resnet8")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    loops = [turns(chosen.model, chosen.batch, chosen.epochs, chosen.images, kind) for kind in ("TrustMix", "MixUp")]
    pairs = list(zip(*loops, strict=True))[1:]  # the first turn warms up
    if not pairs:
        parser.error(f"{2 * TURN} steps at least: more --epochs or --images, or a smaller --batch")
    ours, mixups = map(sum, zip(*pairs, strict=True))
    steps, ratios = TURN * len(pairs), ", ".join(f"{a / b:.2f}" for a, b in pairs)
    print(f"{chosen.model}, batches of {chosen.batch}, {steps} steps: {ours / mixups:.3f} MixUp steps a step", end=" ")
    print(f"of {1000 * mixups / steps:.1f} ms; twenty by twenty: {ratios}")


if __name__ == "__main__":
    main()
