"""`metamixup predict`: the way from a folder of photos to the class of a new one."""

import csv
import io
import json
import math
import os
import shutil

import pytest
import safetensors.torch
import torch
from data.formats import encoded, picture, write_photos
from PIL import Image

from metamixup.cli import run

CLASSES = ("=black", "[bold]white")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Black and white squares with a little noise: easily told apart."""
    root = tmp_path_factory.mktemp("photos")
    for name, value in zip(CLASSES, (20, 230), strict=True):
        (root / "photos" / name).mkdir(parents=True)
        for k in range(30):
            image = Image.blend(Image.new("RGB", (24, 20), (value,) * 3), picture(24, 20, seed=k), 0.1)
            (root / "photos" / name / f"{k}.jpg").write_bytes(encoded(image, "JPEG"))
    patch = pytest.MonkeyPatch()
    patch.setenv("METAMIXUP_CACHE", str(root / "cache"))
    out = root / "run"
    # Two classes, so far apart: a small rate and a few steps do.
    wishes = ["--epochs", "6", "--lr", "0.01", "--batch-size", "16", "--set", "image_size=16", "--model", "cnn-bn"]
    assert run(["train", "--data", str(root / "photos"), "--out", str(out), *wishes]) == 0
    patch.undo()
    return out


@pytest.fixture
def dark(tmp_path):
    path = tmp_path / "-dark.png"
    path.write_bytes(encoded(Image.new("RGB", (50, 40), (15, 15, 15))))
    return path


def test_a_photo_gets_its_class(trained, dark, capsys):
    assert run(["predict", str(trained), str(dark)]) == 0
    told = capsys.readouterr().out
    assert "=black" in told
    assert str(dark) in told


def test_folders_grey_and_transparent_images_as_json(trained, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    Image.new("L", (9, 9), 240).save(tmp_path / "in" / "grey.png")
    Image.new("RGBA", (30, 9), (0, 0, 0, 0)).save(tmp_path / "in" / "clear.webp")
    assert run(["predict", str(trained), str(tmp_path / "in"), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["class"] for row in rows] == [CLASSES[1]] * 2
    assert all(0.5 < row["probability"] <= 1 for row in rows)


def test_csv_is_safe_to_open_in_a_spreadsheet(trained, dark, monkeypatch, capsys):
    monkeypatch.chdir(dark.parent)
    assert run(["predict", str(trained), "--format", "csv", "--", dark.name]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["file"] == "'-dark.png"
    assert row["class"] == "'=black"
    assert 0 < float(row["probability"]) <= 1


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_unreadable_images_are_reported_and_skipped(trained, dark, tmp_path, capsys, form):
    (tmp_path / "[red]bad.jpg").write_bytes(b"broken")
    (tmp_path / "void.png").write_bytes(b"")
    assert run(["predict", str(trained), str(tmp_path), "--format", form]) == 3
    told = capsys.readouterr()
    assert "[red]bad.jpg" in told.err
    assert "void.png: the file is empty" in told.err
    assert "-dark.png" in told.out
    assert "bad" not in told.out


def test_photos_of_kinds_that_are_not_read_are_counted_and_skipped(trained, dark, tmp_path, capsys):
    for name in ("a.HEIC", "b.heic", "c.gif", "notes.txt"):
        (tmp_path / name).write_bytes(b"photo")
    assert run(["predict", str(trained), str(tmp_path)]) == 3
    told = capsys.readouterr()
    assert f"skipped: {tmp_path}: 2 .heic, 1 .gif, since only JPEG, PNG and WebP are read\n" in told.err
    assert "-dark.png" in told.out
    dark.unlink()
    assert run(["predict", str(trained), str(tmp_path)]) == 2
    assert "(2 .heic, 1 .gif, since" in capsys.readouterr().err


def test_a_pipe_is_no_image(trained, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.png")
    assert run(["predict", str(trained), str(tmp_path / "pipe.png")]) == 2
    assert "pipe.png is no ordinary file" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["missing.jpg", "empty"])
def test_nothing_to_look_at_is_a_mistake(trained, tmp_path, capsys, what):
    (tmp_path / "empty").mkdir()
    assert run(["predict", str(trained), str(tmp_path / what)]) == 2
    assert what in capsys.readouterr().err


def test_a_folder_that_holds_no_run(tmp_path, dark, capsys):
    assert run(["predict", str(tmp_path), str(dark)]) == 2
    assert "no finished run" in capsys.readouterr().err


def test_a_run_is_as_sure_of_new_photos_as_its_test_images_were_right(trained, dark, tmp_path, capsys):
    """Twelve test images, all right: by Laplace's rule 13 of 14."""

    def probability(folder):
        assert run(["predict", str(folder), str(dark), "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)[0]["probability"]

    copy = tmp_path / "copy"
    shutil.copytree(trained, copy)
    summary = json.loads((copy / "summary.json").read_text())
    assert summary["test_error"] == 0
    (copy / "summary.json").write_text(json.dumps(summary | {"temperature": 1.0}))
    raw = probability(copy)
    assert probability(trained) == pytest.approx(_softened(raw, summary["temperature"]), abs=1e-4)
    (copy / "summary.json").write_text(json.dumps(summary | {"temperature": 0.0}))
    assert run(["predict", str(copy), str(dark)]) == 2
    assert "its temperature is '0.0'" in capsys.readouterr().err


def _softened(probability: float, temperature: float) -> float:
    """Of two classes."""
    logit = math.log(probability / (1 - probability)) / temperature
    return 1 / (1 + math.exp(-logit))


def test_the_split_is_kept_with_the_run(trained):
    split = safetensors.torch.load((trained / "split.safetensors").read_bytes())
    assert len(split["train"]) > 0
    assert (len(split["meta"]), len(split["unlabelled"])) == (0, 0), "nobody vouches for any of these labels"
    assert torch.cat([split["train"], split["meta"]]).unique().numel() == 48


def test_a_run_does_not_go_on_with_other_data(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "cache"))
    write_photos(tmp_path / "photos", count=16, width=8, height=8)
    out = tmp_path / "run"
    assert (
        run(["train", "--data", str(tmp_path / "photos"), "--out", str(out), "--epochs", "1", "--model", "cnn-bn"]) == 0
    )
    (out / "summary.json").unlink()
    write_photos(tmp_path / "photos", count=20, width=8, height=8)
    assert run(["train", "--out", str(out), "--resume"]) == 2
    assert "not those the run began with" in capsys.readouterr().err


@pytest.mark.parametrize("wishes", [[], ["--set", "pixels=zca"], ["--method", "pseudo-label"]])
def test_a_folder_without_a_cache_and_with_unlabelled_images_is_trained_on(tmp_path, monkeypatch, wishes):
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("where the cache should be")
    write_photos(tmp_path / "photos", ("cat", "dog", "unlabelled"), count=16, width=8, height=8)
    small = ["--epochs", "1", "--batch-size", "8", "--model", "cnn-bn", *wishes]
    assert run(["train", "--data", str(tmp_path / "photos"), "--out", str(tmp_path / "run"), *small]) == 0


def test_whitened_runs_whiten_what_they_are_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "run"
    wishes = ["--epochs", "1", "--model", "cnn-bn", "--set", "pixels=zca", "--set", "subset=300"]
    assert run(["train", "--data", "digits", "--out", str(out), *wishes]) == 0
    assert list((tmp_path / "cache").glob("whiten-*.npz"))
    (tmp_path / "digit.png").write_bytes(encoded(picture(8, 8, "L")))
    capsys.readouterr()
    assert run(["predict", str(out), str(tmp_path / "digit.png"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["class"] in tuple("0123456789")
    (out / "whiten.safetensors").write_bytes(b"broken")
    assert run(["predict", str(out), str(tmp_path / "digit.png")]) == 2
    assert run(["export", str(out)]) == 2
