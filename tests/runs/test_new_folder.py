"""Where no run may begin; that nothing is written there is asked in test_run.py."""

import pytest
from data.formats import write_photos

from metamixup.cli import run
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.runs.new_folder import check_new
from metamixup.settings.schema import Settings


@pytest.mark.parametrize("out", [[], ["--out", "."], ["--out", "cat/run"], ["--resume", "--out", "../link/run"]])
def test_a_run_among_its_images_is_refused_and_leaves_no_trace(tmp_path, monkeypatch, capsys, out):
    """Every later command would take its folder for a class."""
    home = tmp_path / "my home"
    photos = home / "photos"
    write_photos(photos)
    (home / "link").symlink_to(photos)
    monkeypatch.chdir(photos)
    before = sorted(photos.rglob("*"))
    assert run(["train", "--data", ".", "--epochs", "1", *out]) == 2
    told = capsys.readouterr().err
    assert "lies inside the data" in told
    assert f"--out '{home}/runs/" in told
    assert sorted(photos.rglob("*")) == before


def test_a_folder_beside_the_images_will_do(tmp_path, monkeypatch):
    write_photos(tmp_path / "photos")
    check_new(RunFolder(tmp_path / "photos-run"), Settings(data=str(tmp_path / "photos")))
    # The built-in digits are meant, whatever folder is called so.
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    check_new(RunFolder("digits/run"), Settings(data="digits"))


def test_a_run_that_lost_its_config_is_not_sent_to_resume(tmp_path, capsys):
    (tmp_path / "metrics.jsonl").touch()
    assert run(["train", "--out", str(tmp_path), "--resume"]) == 2
    told = capsys.readouterr().err
    assert "config.toml, without which it cannot go on, is missing" in told
    assert "go on with --resume" not in told
    with pytest.raises(UserError, match=r"config\.toml"):
        check_new(RunFolder(tmp_path), Settings())
