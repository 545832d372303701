"""The whole loop: audit a folder, decide on its page, train on what was saved, audit the run."""

import pytest
from audit.photos import MISTAKES, write_photos

from metamixup.audit.audit import audit_images
from metamixup.audit.cross_validation import Plan
from metamixup.audit.images import labelled_images
from metamixup.audit.run import audit_run
from metamixup.cli import run
from metamixup.data.relabel import read_labels
from metamixup.report.audit import write_audit_page
from metamixup.settings.build import build_data
from metamixup.settings.resolve import resolve


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = write_photos(tmp_path_factory.mktemp("photos"))
    (folder / "red" / "broken.png").unlink()
    return folder


def test_what_was_decided_on_the_page_is_trained_on(photos, tmp_path, opened, capsys):
    found = labelled_images(str(photos))
    write_audit_page(audit_images(found, Plan(folds=3, epochs=15, steps=60)), found.images, tmp_path / "audit.html")
    view = opened(tmp_path / "audit.html")
    for _ in MISTAKES:
        view.page.keyboard.press("l")
    view.page.keyboard.press("c")
    with view.page.expect_download() as download:
        view.page.click("#save")
    labels = tmp_path / "labels.csv"
    download.value.save_as(labels)
    train = ["train", "--data", str(photos), "--labels", str(labels), "--epochs", "1", "--model", "cnn-bn"]
    small = ["--set", "batch_size=16", "--set", "meta.per_class=2", "--set", "device=cpu"]
    assert run([*train, *small, "--out", str(tmp_path / "run")]) == 0
    assert "no labels to distrust" in (told := capsys.readouterr().out) or "wrong: metamixup audit" in told
    data = build_data(resolve({"data": str(photos), "labels": str(labels)}))
    right = {**dict(zip(data.train.names, data.train.labels.tolist(), strict=True))}
    right |= dict(zip(data.test.names, data.test.labels.tolist(), strict=True))
    assert {file: data.classes[right[file]] for file in MISTAKES} == MISTAKES
    assert len(read_labels(str(labels), data)) == len(data.train)
    audit, images = audit_run(tmp_path / "run")
    assert audit.images == len(images.names)
    assert audit.findings[0].file in data.train.names
