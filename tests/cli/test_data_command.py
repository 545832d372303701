"""`metamixup data`: ls, check, peek."""

import shlex

import numpy as np
import pytest
from data.formats import encoded, picture, write_mnist, write_photos
from PIL import Image

from metamixup.cli import run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.delenv("METAMIXUP_DATA", raising=False)
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "cache"))


def test_ls_says_what_is_known_and_where_it_was_found(tmp_path, capsys):
    write_mnist(tmp_path / "mnist")
    (tmp_path / "cifar-10-batches-py").mkdir()
    assert run(["data", "ls", "--data-dir", str(tmp_path)]) == 0
    told = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert str(tmp_path / "mnist") in told["mnist"]
    assert "embedded" in told["digits"]
    assert "pickled only" in told["cifar10"]
    assert "non-commercial" in told["imagenet"]
    assert run(["data", "ls", "--data-dir", str(tmp_path / "nowhere")]) == 0


def test_check_counts_and_names_what_is_wrong(tmp_path, capsys):
    root = tmp_path / "photos"
    write_photos(root / "train", ("[bold]cat", "dog"), count=4)
    write_photos(root / "test", ("dog",), count=1)
    (root / "test" / "dog" / "same.png").write_bytes((root / "train" / "dog" / "2.png").read_bytes())
    assert run(["data", "check", str(root)]) == 0
    told = capsys.readouterr().out
    assert "8 for training, 2 for testing" in told
    assert "[bold]cat" in told
    assert "test/dog/same.png = train/dog/2.png" in told
    assert "left out" not in told
    (root / "train" / "dog" / "9.png").write_bytes(encoded(picture())[:60])
    (root / "train" / "dog" / "9.heic").write_bytes(b"of a telephone")
    assert run(["data", "check", str(root)]) == 3
    told = capsys.readouterr().out
    assert "damaged: 1" in told
    assert "train/dog/9.png" in told
    assert "left out, since only JPEG, PNG and WebP are read (1 .heic): 1\n  train/dog/9.heic" in told


def test_the_error_about_a_damaged_photo_tells_the_command_to_go_on(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "my photos"
    write_photos(root, count=8)
    (root / "cat" / "broken.jpg").write_bytes(b"")
    train = ["train", "--data", str(root), "--out", "run", "--epochs", "1", "--batch-size", "8", "--model", "cnn-bn"]
    assert run(train) == 2
    error = capsys.readouterr().err
    assert "broken.jpg: the file is empty" in error
    command = shlex.split(error.rpartition("metamixup ")[2])
    assert command == ["data", "check", str(root), "--set-aside", "damaged"]
    assert run(command) == 0
    assert "moved to damaged: 1" in capsys.readouterr().out
    assert (tmp_path / "damaged" / "cat" / "broken.jpg").exists()
    assert run(train) == 0


def test_a_photo_that_is_too_large_stays_where_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("METAMIXUP_IMAGE_MB", "1")
    root = tmp_path / "photos"
    write_photos(root, count=8)
    large = root / "cat" / "large.png"
    large.write_bytes(encoded(Image.new("RGB", (1000, 1000))))
    assert run(["data", "peek", str(root), "--out", str(tmp_path / "sheet.png")]) == 2
    error = capsys.readouterr().err
    assert "allow more with $METAMIXUP_IMAGE_MB=4" in error
    assert "--set-aside" not in error
    (root / "cat" / "bad.png").write_bytes(b"x")
    assert run(["data", "check", str(root), "--set-aside", str(tmp_path / "aside")]) == 3
    told = capsys.readouterr().out
    assert "damaged: 1" in told
    assert "too large to open: 1" in told
    assert "aside: 1" in told
    assert large.exists()


def test_check_of_a_named_set_and_of_nothing(tmp_path, capsys):
    assert run(["data", "check", "digits"]) == 0
    assert "1347 for training, 450 for testing" in capsys.readouterr().out
    assert run(["data", "check", "digit"]) == 2
    assert "did you mean 'digits'" in capsys.readouterr().err
    assert run(["data", "check", str(tmp_path / "nowhere")]) == 2


def test_peek_draws_a_sheet(tmp_path, capsys):
    np.savez(
        tmp_path / "own.npz", x=np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), np.uint8), y=np.arange(20) % 2
    )
    out = tmp_path / "sheet.png"
    assert run(["data", "peek", str(tmp_path / "own.npz"), "--out", str(out)]) == 0
    with Image.open(out) as sheet:
        assert sheet.size == (732, 344)
    assert run(["data", "peek", "digits", "--out", str(tmp_path / "no" / "sheet.png")]) == 2
    assert "cannot be written" in capsys.readouterr().err
