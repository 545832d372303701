"""What a round of corrections is worth: train, audit, correct the labels that the audit names first, train again.

    METAMIXUP_DATA=… python benchmarks/corrections.py --work FOLDER [--images 10000] [--answers 200] [--fair 100]

A folder of CIFAR-10 images by the labels that people gave (`random1` of CIFAR-10N, 17 % wrong); the answers come from
the official labels, which the test images have too. With --fair, so many images drawn at random are answered besides,
and are the meta set of a third run. Everything is done by the commands of metamixup; finished runs are not made again.
"""

import argparse
import csv
import json
import os
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from metamixup.cli import run
from metamixup.data import DataSet, ImageSet, load
from metamixup.data.relabel import read_labels

SETTINGS = "--recipe cifar10-fast --method trustmix --set test_views=plain"


def write_folder(root: Path, whole: DataSet, images: int, seed: int) -> None:
    """root/train/GIVEN/POSITION.png and root/test/CLASS/POSITION.png."""
    given = read_labels(os.path.join(os.environ["METAMIXUP_DATA"], "cifar10n.npz:random1"), whole)
    chosen = torch.randperm(len(given), generator=torch.Generator().manual_seed(seed))[:images]
    write_images(root / "train", whole.train, given, chosen, whole.classes)
    write_images(root / "test", whole.test, whole.test.labels, torch.arange(len(whole.test)), whole.classes)


def write_images(root: Path, part: ImageSet, labels: Tensor, chosen: Tensor, classes: tuple[str, ...]) -> None:
    for name in classes:
        (root / name).mkdir(parents=True)
    for k in chosen.tolist():
        pixels = part.images[k].permute(1, 2, 0).numpy()
        Image.fromarray(pixels).save(root / classes[int(labels[k])] / f"{k}.png")


def train(photos: Path, out: Path, seed: int, epochs: int, *more: str) -> dict[str, float]:
    done = out / "summary.json"
    if not done.exists():
        given = ["--data", str(photos), "--seed", str(seed), "--epochs", str(epochs), "--out", str(out), "--resume"]
        assert run(["train", *SETTINGS.split(), *given, *more]) == 0
    found = json.loads(done.read_text())
    return {"test_error": found["test_error"], "cpu_seconds": found["cpu_seconds"]}


def answered(listed: Path, labels: Path, whole: DataSet, answers: int, fair: int) -> dict[str, float]:
    """labels.csv as the page saves it: the first of the list, and some at random; how many of the first were wrong."""
    with listed.open(newline="") as file:
        rows = list(csv.DictReader(file))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(1)).tolist()
    chosen = {row["file"]: "suspicion" for row in rows[:answers]} | {rows[k]["file"]: "random" for k in order[:fair]}
    right = {name: whole.classes[int(whole.train.labels[int(Path(name).stem)])] for name in chosen}
    lines = [f"{name},{right[name]},{how}" for name, how in chosen.items()]
    labels.write_text("\n".join(["file,label,chosen", *lines]) + "\n")
    wrong = [row["label"] != right[row["file"]] for row in rows[:answers]]
    return {"answers": answers, "wrong": sum(wrong), "wrong_of_first_100": sum(wrong[:100])}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    for name, value in (("images", 10_000), ("answers", 200), ("fair", 0), ("epochs", 20), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    o = parser.parse_args()
    torch.set_num_threads(1)
    whole, photos, labels = load("cifar10"), o.work / "photos", o.work / "labels.csv"
    if not photos.exists():
        write_folder(photos, whole, o.images, o.seed)
    before = train(photos, o.work / "before", o.seed, o.epochs)
    if not (o.work / "list.csv").exists():
        assert run(["audit", str(o.work / "before"), "--out", str(o.work / "list.csv")]) == 0
    about: dict[str, Any] = {"seed": o.seed, "epochs": o.epochs, "images": o.images, "before": before}
    about |= answered(o.work / "list.csv", labels, whole, o.answers, 0)
    about["after"] = train(photos, o.work / "after", o.seed, o.epochs, "--labels", str(labels))
    print(json.dumps(about), flush=True)
    if o.fair:
        answered(o.work / "list.csv", labels, whole, o.answers, o.fair)
        vouched = train(photos, o.work / "fair", o.seed, o.epochs, "--labels", str(labels), "--meta", str(labels))
        print(json.dumps({**about, "fair": o.fair, "after_with_meta": vouched}))


if __name__ == "__main__":
    main()
