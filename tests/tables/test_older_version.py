"""Runs that an earlier version has left."""

import json

import pytest

from metamixup.engine.records.run_folder import RunFolder
from metamixup.settings.config import write_config
from metamixup.settings.resolve import resolve
from metamixup.tables.cells import Cell, Run
from metamixup.tables.older_version import run_of_older_version


def planned(tmp_path, method="mixup", **given) -> Run:
    cell = Cell("digits", "cnn3", method, method, {"method": method, "epochs": 3, **given}, None, 1.0)
    return Run(cell, 0, tmp_path / f"digits-cnn3-{method}-seed0-00000000")


def leave(run: Run, mark: str, finished: bool = True, **other) -> RunFolder:
    folder = RunFolder(run.folder.with_name(run.folder.name.replace("00000000", mark)))
    folder.root.mkdir()
    write_config(folder.config, resolve({**run.given, **other}))
    if finished:
        folder.summary.write_text(json.dumps({"test_error": 1.0}))
    return folder


def test_the_same_settings_under_another_name(tmp_path):
    run = planned(tmp_path)
    leave(run, "11111111", epochs=4)
    leave(run, "22222222", finished=False)
    assert run_of_older_version(run) is None
    same = leave(run, "33333333", data_dir="elsewhere")
    text = same.config.read_text()
    assert "new_head" in text
    same.config.write_text("\n".join(line for line in text.splitlines() if not line.startswith("new_head")))
    assert run_of_older_version(run) == same.root  # a setting that it did not know is at its default


@pytest.mark.parametrize("method", ["trustmix", "trustmix:reverse", "reweight"])
def test_what_learns_is_never_taken_over(tmp_path, method):
    run = planned(tmp_path, method)
    leave(run, "11111111")
    assert run_of_older_version(run) is None


def test_other_seeds_and_cells_are_no_kin_and_damaged_settings_no_match(tmp_path):
    run = planned(tmp_path)
    leave(Run(run.cell, 0, tmp_path / "digits-cnn3-mixup-seed00-00000000"), "11111111")
    assert run_of_older_version(run) is None
    leave(run, "22222222").config.write_text("= broken")
    assert run_of_older_version(run) is None
