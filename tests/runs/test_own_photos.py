"""The two lines of the README on images of one's own, in small: benchmarks/own_photos.py is the whole."""

from pathlib import Path

import torch
from PIL import Image

from metamixup.data import load
from metamixup.engine.records.progress import Listener
from metamixup.engine.records.run_folder import RunFolder
from metamixup.runs import run
from metamixup.settings.resolve import resolve

ALIKE = (1, 3, 8, 9)  # digits that their nearest neighbours confuse


class Said(Listener):
    """Hears what a run says."""

    def __init__(self):
        self.texts = []

    def say(self, text):
        self.texts.append(text)


def write_digits(root: Path, per_class: int) -> None:
    found = load("digits")
    for part, images, count in (("train", found.train, per_class), ("test", found.test, 45)):
        for label in ALIKE:
            folder = root / part / f"digit {label}"
            folder.mkdir(parents=True)
            for number in (images.labels == label).nonzero()[:count, 0].tolist():
                Image.fromarray(images.images[number, 0].numpy()).save(folder / f"{number}.png")


def nearest_neighbour_error(folder: Path) -> float:
    found = load(folder)
    train, test = (part.images.flatten(1).float() for part in (found.train, found.test))
    nearest = torch.cdist(test, train).argmin(1)
    return 100 * float((found.train.labels[nearest] != found.test.labels).float().mean())


def test_the_defaults_learn_more_in_a_fifth_of_their_time_than_the_nearest_neighbour_knows(tmp_path):
    write_digits(tmp_path / "photos", 8)
    (tmp_path / "photos" / "train" / "digit 1" / "IMG.HEIC").write_bytes(b"of a telephone")
    settings = resolve({"data": str(tmp_path / "photos"), "evaluate_every": 1000, "epochs": 40})
    said = Said()
    summary = run.begin(RunFolder(tmp_path / "run"), settings, [said])
    assert any("no clean images were given" in text and "--meta FOLDER" in text for text in said.texts)
    assert any("are read: 1 .heic (as train/digit 1/IMG.HEIC)" in text for text in said.texts)
    assert summary["images"]["meta"] == 0
    assert summary["model"] == "photo-resnet8"
    assert summary["test_error"] < nearest_neighbour_error(tmp_path / "photos")
