"""What is said of the data before a run."""

import json
import re
from types import SimpleNamespace

import torch
from data.formats import write_photos

from metamixup.cli import run
from metamixup.data import DataSet, ImageSet
from metamixup.runs.beforehand import told_before
from metamixup.settings.resolve import resolve


def said(classes, tested, unlabelled=False, read=False) -> str:
    part = ImageSet(torch.zeros(len(tested), 1, 4, 4, dtype=torch.uint8), torch.tensor(tested))
    found = DataSet("toy", part, part, tuple(classes), (0.5,), (0.2,), part if unlabelled else None)
    stream = object() if read else None
    training = SimpleNamespace(about={"labels": 3}, stage=SimpleNamespace(learned=False), unlabelled=stream)
    return "\n".join(told_before(resolve({"data": "digits"}), training, found))


def test_classes_that_only_case_tells_apart_are_named():
    assert "'Ship' and 'ship' are classes of their own" in said(["Ship", "car", "ship"], [0, 1, 2])


def test_letters_are_not():
    assert said(["A", "a", "car", "ship"], [0, 1, 2, 3]) == ""


def test_classes_without_a_test_image_are_named():
    assert "no test image of 'rare':" in said(["car", "rare", "ship"], [0, 2])
    many = [f"class {k}" for k in range(9)]
    assert "'class 5' and 3 more:" in said(many, [0])


def test_images_without_labels_that_no_one_reads_are_counted():
    assert "not used: 2; trustmix learns from labels alone" in said("AB", [0, 1], unlabelled=True)
    assert said("AB", [0, 1], unlabelled=True, read=True) == said("AB", [0, 1]) == ""


def test_a_folder_that_is_called_like_a_data_set_is_told(tmp_path, monkeypatch):
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "the folder here is --data ./digits" in said("AB", [0, 1])


def test_a_run_tells_of_unused_images_at_its_end_and_what_it_proposes_works(tmp_path, capsys):
    write_photos(tmp_path / "photos", ("cat", "dog", "unlabelled"), count=6, width=16, height=16)
    wishes = ["train", "--data", str(tmp_path / "photos"), "--model", "cnn-bn", "--epochs", "1"]
    assert run([*wishes, "--out", str(tmp_path / "run")]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    (text,) = [text for text in summary["remarks"] if "not used: 6" in text]
    method = re.search(r"--method (\S+),", text)[1]
    assert run([*wishes, "--method", method, "--out", str(tmp_path / "other")]) == 0
    assert "not used" not in (tmp_path / "other" / "summary.json").read_text()
