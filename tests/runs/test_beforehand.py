"""What is said of the data before a run."""

import json
import re
import shlex
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from data.formats import write_photos

from metamixup import world
from metamixup.cli import run
from metamixup.data import DataSet, ImageSet
from metamixup.data.check import copies
from metamixup.data.folder.tree import scan
from metamixup.engine.records.run_folder import RunFolder
from metamixup.runs import beforehand
from metamixup.runs import run as runs
from metamixup.runs.beforehand import told_before, told_twice
from metamixup.settings.resolve import resolve


def said(classes, tested, unlabelled=False, read=False, data="digits") -> str:
    pixels = torch.zeros(len(tested), 1, 4, 4, dtype=torch.uint8)
    part, test = (ImageSet(images, torch.tensor(tested)) for images in (pixels, pixels + 1))
    found = DataSet("toy", part, test, tuple(classes), (0.5,), (0.2,), part if unlabelled else None)
    stream = object() if read else None
    training = SimpleNamespace(about={"labels": 3}, stage=SimpleNamespace(learned=False), unlabelled=stream)
    settings = resolve({"data": data})
    return "\n".join([*told_before(settings, training, found), *told_twice(settings, training, found)])


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


def test_a_run_tells_of_test_images_that_it_is_trained_on_and_of_images_that_it_is_not(tmp_path, capsys):
    root = tmp_path / "my photos"
    write_photos(root, ("train/cat", "train/dog", "test/cat", "test/dog", "bird"), count=6, width=16, height=16)
    (root / "meta" / "dog").mkdir(parents=True)
    shutil.copy(root / "test" / "dog" / "0.png", root / "meta" / "dog" / "copy.png")
    (root / "train" / "cat" / "copy.png").write_bytes((root / "test" / "cat" / "5.png").read_bytes())
    wishes = ["train", "--data", str(root), "--model", "cnn-bn", "--epochs", "1", "--out", str(tmp_path / "run")]
    assert run(wishes) == 0
    told = capsys.readouterr().out
    assert "images that are not used, since they belong to no class or part: 6 (as bird/0.png)" in told
    (text,) = [
        text for text in json.loads((tmp_path / "run" / "summary.json").read_text())["remarks"] if "copies" in text
    ]
    assert text in told
    count = int(re.match(r"(\d+) of 12 test images", text)[1])
    arguments = shlex.split(re.search("metamixup (data check .*) lists them", text)[1])
    assert run(arguments) == 0
    checked = capsys.readouterr().out
    assert f"in the test set and in the training set: {count}\n" in checked
    assert "not used, since they belong to no class or part: 6\n" in checked


INNER = ("animals/cat", "animals/dog", "things/ship", "things/truck")


@pytest.mark.parametrize("above", ["", "train/"])
def test_folders_that_may_have_been_meant_as_classes_are_told(tmp_path, above):
    write_photos(tmp_path, tuple(above + name for name in INNER), count=2)
    text = said(["animals", "things"], [0, 1], data=str(tmp_path))
    assert text == (
        "the classes are 'animals', 'things'; all their images lie in 4 folders within them (as animals/cat): if those "
        f"are the classes, move them up into {(tmp_path / above)}, in place of the folders that hold them"
    )
    for name in INNER:
        (tmp_path / above / name).rename(tmp_path / above / name.partition("/")[2])
    for name in ("animals", "things"):
        (tmp_path / above / name).rmdir()
    assert scan(tmp_path).classes == ("cat", "dog", "ship", "truck")
    assert "within them" not in said(["cat", "dog", "ship", "truck"], [0, 1, 2, 3], data=str(tmp_path))


@pytest.mark.parametrize("also", [("things",), ("things/ship",)])
def test_subfolders_are_allowed_where_another_class_has_none_to_choose_from(tmp_path, also):
    write_photos(tmp_path, ("animals/cat", "animals/dog", *also), count=2)
    assert said(["animals", "things"], [0, 1], data=str(tmp_path)) == ""


def test_images_of_a_class_beside_its_subfolders_are_its_own(tmp_path):
    write_photos(tmp_path, ("animals", "things", *INNER), count=2)
    (tmp_path / "animals" / "empty").mkdir()
    assert said(["animals", "things"], [0, 1], data=str(tmp_path)) == ""


@pytest.fixture
def arrays(tmp_path):
    """A file without names of images, of whose test images two are among the training images."""
    x = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=np.uint8)
    test = np.concatenate([x[[3, 17]], 255 - x[:6]])
    path = tmp_path / "own.npz"
    np.savez(path, x_train=x, y_train=np.arange(40) % 2, x_test=test, y_test=np.arange(8) % 2)
    return path


def test_copies_are_told_of_images_without_files_too_and_looked_for_once_a_run(arrays, tmp_path, capsys, monkeypatch):
    looked = []
    monkeypatch.setattr(beforehand, "copies", lambda found: looked.append(found) or copies(found))
    wishes = ["train", "--data", str(arrays), "--model", "cnn-bn", "--epochs", "1"]
    assert run([*wishes, "--out", str(tmp_path / "a")]) == 0
    told = "2 of 8 test images are copies of training images (as test image 0 = training image 3)"
    assert told in capsys.readouterr().out
    assert told in (tmp_path / "a" / "summary.json").read_text()
    assert len(looked) == 1
    assert run(["data", "check", str(arrays)]) == 0
    assert "test image 1 = training image 17" in capsys.readouterr().out


def test_processes_that_do_not_lead_look_for_nothing_to_tell(arrays, tmp_path, monkeypatch):
    monkeypatch.setattr(world, "leads", lambda: False)
    for name in ("told_before", "told_twice"):
        monkeypatch.setattr(runs, name, None)
    runs._prepared(RunFolder(tmp_path / "a"), resolve({"data": str(arrays), "model": "cnn-bn"}), (), None)
