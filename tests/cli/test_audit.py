import json

import pytest
from audit.photos import MISTAKES, write_photos

from metamixup.audit import audit as module
from metamixup.audit.cross_validation import Plan
from metamixup.audit.findings import Audit
from metamixup.cli import run
from metamixup.cli.audit import progress


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "fitting_plan", lambda found: Plan(folds=3, epochs=15, steps=60))


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("photos"), each=16)


def test_a_folder_as_a_table_and_a_page(photos, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["audit", str(photos), "--most", "4", "--page", "--out", "list.csv"]) == 0
    told = capsys.readouterr()
    assert set(MISTAKES) == {line.split()[0] for line in told.out.splitlines()[1:5]}
    assert "labels look wrong; about" in told.out
    assert (tmp_path / "audit.html").read_text().count("data-theme") > 0
    assert len((tmp_path / "list.csv").read_text().splitlines()) == 1 + 3 * 16 + 1


def test_json_on_standard_output_alone(photos, capsys):
    assert run(["audit", str(photos), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["images"] == 48


@pytest.mark.parametrize("options", [["--out", "taken/list.csv"], ["--page"]])
def test_a_place_that_cannot_be_written_is_told_before_the_work(photos, tmp_path, capsys, monkeypatch, options):
    (tmp_path / "taken").write_text("a file, no folder")
    (tmp_path / "audit.html").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "audit_images", lambda *_, **__: pytest.fail("the work was done in vain"))
    assert run(["audit", str(photos), *options]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_what_is_nothing_to_audit(tmp_path, capsys):
    assert run(["audit", str(tmp_path)]) == 2
    assert "needs one folder of images for each class" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trained(photos, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    small = ["--epochs", "1", "--model", "cnn-bn", "--set", "batch_size=16", "--set", "device=cpu"]
    (photos / "red" / "broken.png").unlink(missing_ok=True)
    assert run(["train", "--data", str(photos), *small, "--out", str(out)]) == 0
    return out


def test_new_networks_judge_a_run_where_they_are_named(trained, capsys, monkeypatch):
    def audit_images(found, model, heard):
        return Audit("photos", len(found.labels), found.classes, 0.0, 0.0, 0.0, how=f"judged by {model}")

    monkeypatch.setattr("metamixup.audit.run.audit_images", audit_images)
    assert run(["audit", str(trained), "--model", "fast-s"]) == 0
    assert "judged by fast-s" in capsys.readouterr().out


def test_a_size_for_the_images_of_a_run_is_refused(trained, capsys):
    assert run(["audit", str(trained), "--image-size", "32"]) == 2
    assert "--image-size is for a folder" in capsys.readouterr().err


def test_progress_leaves_no_trace_before_the_list(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress() as heard:
        heard(0.5)
    told = capsys.readouterr().err
    before, line, wiped, after = told.split("\r")
    assert line == "training networks to judge by:  50 %"
    assert (before, wiped, after) == ("", " " * len(line), "")
