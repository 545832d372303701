"""Scores and audits of a run are of the data that it was trained on, wherever they lie."""

import json
import shutil

import pytest
from data.formats import write_photos

from metamixup.cli import run

REMEMBERED = ("summary", "checkpoint", "split")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("trained")
    write_photos(root / "photos", count=10, width=16, height=16)
    small = ["--epochs", "1", "--model", "cnn-bn", "--set", "batch_size=8"]
    assert run(["train", "--data", str(root / "photos"), *small, "--out", str(root / "run")]) == 0
    return root


@pytest.fixture
def copy(trained, tmp_path):
    """The run, and its images in another place."""
    return shutil.copytree(trained / "run", tmp_path / "run"), shutil.copytree(trained / "photos", tmp_path / "moved")


def forgetful(out, remembers):
    """What tells the data: the summary, the checkpoint alone, or the split alone."""
    if remembers != "summary":
        summary = json.loads((out / "summary.json").read_text())
        del summary["fingerprint"]
        (out / "summary.json").write_text(json.dumps(summary))
    if remembers == "split":
        shutil.rmtree(out / "checkpoints")


def add(photos):
    write_photos(photos, count=11, width=16, height=16)


def rename(photos):
    (photos / "dog").rename(photos / "ant")


def replace(photos):
    shutil.copy(photos / "dog" / "0.png", photos / "cat" / "1.png")


def remove(photos):
    for file in sorted((photos / "cat").iterdir())[1:]:
        file.unlink()


# As many other pictures under the same names are known by the fingerprint alone.
TOLD = [(r, c) for r in REMEMBERED for c in (add, rename, replace, remove) if (r, c) != ("split", replace)]


@pytest.mark.parametrize("command", ["evaluate", "audit"])
@pytest.mark.parametrize(("remembers", "change"), TOLD)
def test_other_data_are_refused(copy, capsys, command, remembers, change):
    out, photos = copy
    forgetful(out, remembers)
    change(photos)
    assert run([command, str(out), "--data", str(photos)]) == 2
    assert "its data has changed since it was trained" in capsys.readouterr().err


@pytest.mark.parametrize("remembers", REMEMBERED)
def test_the_same_data_elsewhere_give_the_same_scores(copy, capsys, remembers):
    out, photos = copy
    forgetful(out, remembers)
    assert run(["evaluate", str(out), "--data", str(photos), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    summary = json.loads((out / "summary.json").read_text())
    assert scores == {key: summary[key] for key in scores}


@pytest.mark.parametrize("command", ["evaluate", "audit"])
def test_data_that_were_moved_are_found_where_the_user_says(copy, capsys, command):
    out, photos = copy
    config = out / "config.toml"
    config.write_text(config.read_text().replace("/photos", "/gone"))
    assert run([command, str(out)]) == 2
    told = capsys.readouterr().err
    assert "/gone, which the run was trained on, is not there" in told
    assert "--data FOLDER" in told
    assert run([command, str(out), "--data", str(photos)]) == 0


def test_data_for_a_folder_to_audit_are_named_once(copy, capsys):
    _, photos = copy
    assert run(["audit", str(photos), "--data", str(photos)]) == 2
    assert "is no run; leave it out" in capsys.readouterr().err


def test_whitened_pixels_are_known_by_their_split(tmp_path, monkeypatch):
    """Their last digits differ between machines: here, as if there were another."""
    out = tmp_path / "run"
    wishes = ["--data", "digits", "--set", "pixels=zca", "--set", "subset=300", "--model", "cnn-bn", "--epochs", "1"]
    assert run(["train", *wishes, "--out", str(out)]) == 0
    monkeypatch.setattr("metamixup.runs.data_again.fingerprint", lambda found: "another")
    assert run(["evaluate", str(out)]) == 0
