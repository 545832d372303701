"""Do the defaults learn on anybody's images? Folders like those of users, cut from public data, each trained on by
`metamixup train --data FOLDER` alone, beside the error of the nearest neighbour in pixels.

    METAMIXUP_DATA=… python benchmarks/own_photos.py --work FOLDER [--seeds 3] [--only colour,grey] [--method baseline]

Needs CIFAR-10 and MNIST; the tiny folder is made of the digits of scikit-learn.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageEnhance

from metamixup.data import DataSet, load

TEST_IMAGES = 500


@dataclass(frozen=True)
class Kind:
    """data: where the images come from; classes: which of them; counts: training images of each class.

    side: how many pixels the photos have, upright or not, cut and lit by chance; 0: as they are.
    neighbours: the size at which the nearest is looked for; None: that of training.
    """

    data: str
    classes: tuple[int, ...]
    counts: tuple[int, ...]
    side: int = 0
    suffix: str = "png"
    neighbours: int | None = None


TEN = tuple(range(10))
KINDS = {
    "colour": Kind("cifar10", TEN, (50,) * 10),
    "grey": Kind("mnist", TEN, (20,) * 10),
    "tiny": Kind("digits", TEN, (40,) * 10, neighbours=8),
    "200 px": Kind("cifar10", (0, 1, 6, 7), (60,) * 4, side=200, suffix="jpg"),
    "imbalanced": Kind("cifar10", (1, 6, 7, 8, 9), (200, 100, 50, 25, 12)),
    "two classes": Kind("cifar10", (1, 6), (25,) * 2),
}


def write_folder(kind: Kind, root: Path, data_dir: str | None) -> None:
    """root/train/CLASS/… and root/test/CLASS/…, the same files each time."""
    found, random = load(kind.data, data_dir), np.random.default_rng(0)
    counts = dict(zip(kind.classes, kind.counts, strict=True))
    each = TEST_IMAGES // len(counts)
    for part, images, wanted in (("train", found.train, counts), ("test", found.test, dict.fromkeys(counts, each))):
        for label, count in wanted.items():
            folder = root / part / found.classes[label].replace("/", " ")
            folder.mkdir(parents=True)
            chosen = random.permutation((images.labels == label).nonzero()[:, 0].numpy())[:count]
            for number, index in enumerate(chosen):
                photo = as_photo(images.images[int(index)].numpy(), kind.side, random)
                photo.save(folder / f"{number:05}.{kind.suffix}")


def as_photo(pixels: np.ndarray, side: int, random: np.random.Generator) -> Image.Image:
    """pixels: (C, H, W). With a side: enlarged, cut to another shape and lit otherwise, as photos are."""
    image = Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0))
    if not side:
        return image
    large = image.resize(tuple(int(side * scale) for scale in random.uniform(1.0, 1.3, 2)), Image.Resampling.BICUBIC)
    cut = [int(random.uniform(0, 0.1) * length) for length in (*large.size, *large.size)]
    small = large.crop((cut[0], cut[1], large.width - cut[2], large.height - cut[3]))
    return ImageEnhance.Brightness(small).enhance(float(random.uniform(0.7, 1.3)))


def nearest_neighbour_error(found: DataSet) -> float:
    """In percent: test images whose nearest training image (Euclidean, in pixels) is of another class."""
    train, test = (part.images.flatten(1).float() for part in (found.train, found.test))
    nearest = torch.cat([torch.cdist(some, train).argmin(1) for some in test.split(500)])
    return round(100 * float((found.train.labels[nearest] != found.test.labels).double().mean()), 6)  # as runs round


def train(folder: Path, out: Path, seed: int, others: list[str]) -> dict[str, float]:
    """The summary of a run whose every setting is a default; one that was stopped goes on."""
    command = [
        sys.executable,
        "-m",
        "metamixup",
        "train",
        "--data",
        str(folder),
        "--seed",
        str(seed),
        "--out",
        str(out),
    ]
    subprocess.run([*command, "--threads", "1", "--resume", *others], check=True, stdout=subprocess.DEVNULL)
    return json.loads((out / "summary.json").read_text())


def row(name: str, work: Path, seeds: int, data_dir: str | None, others: list[str]) -> str:
    folder = work / name.replace(" ", "-")
    if not folder.exists():
        write_folder(KINDS[name], folder, data_dir)
    found = load(folder)
    nearest = nearest_neighbour_error(load(folder, image_size=KINDS[name].neighbours))
    outs = [work / "runs" / "-".join([folder.name, *others, str(seed)]).replace("/", "-") for seed in range(seeds)]
    runs = [train(folder, out, seed, others) for seed, out in enumerate(outs)]
    errors = [float(run["test_error"]) for run in runs]
    cpu = sum(float(run["cpu_seconds"]) for run in runs) / len(runs)
    cells = [
        *(name, f"{len(found.train):,}", found.num_classes, "×".join(map(str, found.shape))),
        *(runs[0]["model"], runs[0]["epochs"], f"{nearest:.1f}"),
        *(" · ".join(f"{error:.1f}" for error in errors), f"{cpu:.0f} s"),
        "yes" if max(errors) < nearest else "**no**",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data-dir", default=os.environ.get("METAMIXUP_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default=",".join(KINDS))
    chosen, others = parser.parse_known_args()
    print(
        "| folder | images | classes | size | model | epochs | nearest neighbour | seeds | CPU a run | below, always |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in chosen.only.split(","):
        print(row(name, chosen.work, chosen.seeds, chosen.data_dir, others), flush=True)


if __name__ == "__main__":
    main()
