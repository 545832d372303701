"""How fast data come: batches with flip and shift, and a folder of photos before and after it is cached.

python benchmarks/data_loading.py [--data-dir DIR]      one thread; CIFAR-10 where it is found, else images of its shape
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from metamixup import data
from metamixup.data import Augment, DataSet, ImageSet, Stream
from metamixup.errors import DataError

BATCH = 128


def cifar10(data_dir: str | None) -> DataSet:
    try:
        return data.load("cifar10", data_dir)
    except DataError:
        images = torch.randint(0, 256, (50_000, 3, 32, 32), dtype=torch.uint8)
        made = ImageSet(images, torch.arange(50_000) % 10)
        return DataSet("images of CIFAR-10's shape", made, made, tuple("0123456789"), (0.5,) * 3, (0.25,) * 3)


def epoch(found: DataSet, number: int = 0, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds for one epoch of batches: indexed, flipped, shifted by up to ±4 pixels, scaled and normalised."""
    index = torch.arange(len(found.train))
    stream = Stream(found.train, index, BATCH, 0, "train", Augment(flip=True, shift=4), found.mean, found.std)
    started = clock()
    for step in range(stream.steps_per_epoch):
        stream.batch(number * stream.steps_per_epoch + step)
    return clock() - started


def write_photos(root: Path, count: int, side: int) -> None:
    """Smooth colours with a little noise, so that they compress as photos do."""
    rng = np.random.default_rng(0)
    for k in range(count):
        (root / f"class{k % 10}").mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).resize((side, side))
        noisy = np.asarray(coarse).astype(int) + rng.integers(-8, 9, (side, side, 3))
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(root / f"class{k % 10}" / f"{k}.jpg", quality=90)


def folder(count: int = 10_000, side: int = 64) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        os.environ["METAMIXUP_CACHE"] = f"{place}/cache"
        write_photos(Path(place, "photos"), count, side)
        started = time.perf_counter()
        found = data.load(Path(place, "photos"))
        first = time.perf_counter() - started + epoch(found)
        second = epoch(found, 1)
        started = time.perf_counter()
        data.load(Path(place, "photos"))
        again = time.perf_counter() - started
    seconds = {"first_epoch": first, "second_epoch": second, "opening_the_cache": again}
    return {name: round(value, 3) for name, value in seconds.items()} | {"ratio": round(first / second, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir")
    given = parser.parse_args()
    torch.set_num_threads(1)
    found = cifar10(given.data_dir)
    images = len(found.train) // BATCH * BATCH
    # The processor's own time is what one core gives; on a busy machine the clock on the wall says less.
    clocks = {"images_per_second": time.perf_counter, "images_per_cpu_second": time.process_time}
    rates = {name: round(images / min(epoch(found, k, clock) for k in range(3))) for name, clock in clocks.items()}
    print(json.dumps({"data": found.name, **rates, "folder_of_10000_jpegs": folder()}))


if __name__ == "__main__":
    main()
