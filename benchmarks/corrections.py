"""What a round of corrections is worth: train, audit, correct the labels that the audit names first, train again.

    METAMIXUP_DATA=… python benchmarks/corrections.py --work FOLDER [--images 10000] [--answers 200] [--seed 0]

A folder of CIFAR-10 images by the labels that people gave (`random1` of CIFAR-10N, 17 % wrong); the answers come from
the official labels, which the test images have too. Everything is done by the commands of metamixup; what is finished
is not done again.
"""

import argparse
import csv
import json
import os
from pathlib import Path

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


def answered(listed: Path, labels: Path, whole: DataSet, answers: int) -> dict[str, float]:
    """labels.csv as the page saves it; and how many of the first labels were wrong."""
    with listed.open(newline="") as file:
        first = list(csv.DictReader(file))[:answers]
    right = [whole.classes[int(whole.train.labels[int(Path(row["file"]).stem)])] for row in first]
    wrong = [row["label"] != name for row, name in zip(first, right, strict=True)]
    rows = [f"{row['file']},{name}" for row, name in zip(first, right, strict=True)]
    labels.write_text("\n".join(["file,label", *rows]) + "\n")
    return {"answers": len(first), "wrong": sum(wrong), "wrong_of_first_100": sum(wrong[:100])}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    for name, value in (("images", 10_000), ("answers", 200), ("epochs", 20), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--vouched", action="store_true", help="A third run, with the answers as its meta set.")
    o = parser.parse_args()
    torch.set_num_threads(1)
    whole, photos, labels = load("cifar10"), o.work / "photos", o.work / "labels.csv"
    if not photos.exists():
        write_folder(photos, whole, o.images, o.seed)
    before = train(photos, o.work / "before", o.seed, o.epochs)
    if not (o.work / "list.csv").exists():
        assert run(["audit", str(o.work / "before"), "--out", str(o.work / "list.csv")]) == 0
    told = answered(o.work / "list.csv", labels, whole, o.answers)
    about = {"seed": o.seed, "epochs": o.epochs, "images": o.images, **told, "before": before}
    print(json.dumps(about), flush=True)
    corrected = ["--labels", str(labels)]
    about["after"] = train(photos, o.work / "after", o.seed, o.epochs, *corrected)
    print(json.dumps(about), flush=True)
    if o.vouched:
        about["vouched"] = train(photos, o.work / "vouched", o.seed, o.epochs, *corrected, "--meta", str(labels))
        print(json.dumps(about))


if __name__ == "__main__":
    main()
