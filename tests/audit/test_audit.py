import json
from dataclasses import replace

import pytest
import torch
from audit.photos import MISTAKES, write_photos

from metamixup.audit.audit import audit_images
from metamixup.audit.cross_validation import Plan
from metamixup.audit.findings import audit_csv, audit_json
from metamixup.audit.images import labelled_images
from metamixup.errors import UserError

QUICK = Plan(folds=3, epochs=15, steps=60)


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return audit_images(labelled_images(str(write_photos(tmp_path_factory.mktemp("photos")))), QUICK)


def test_the_wrong_labels_of_a_folder_come_first_with_the_right_ones(audit):
    first = {finding.file: finding.likely for finding in audit.findings[: len(MISTAKES)]}
    assert first == MISTAKES
    assert audit.findings[0].wrong > 0.5 > audit.findings[20].wrong
    lost = audit.findings[-1]
    assert (lost.file, lost.given, lost.why) == ("red/broken.png", "red", "unreadable")
    assert audit.low * 90 <= len(MISTAKES) <= audit.high * 90 + 1
    assert "labels look wrong; about" in audit.sentence()


def test_a_run_that_distrusts_nothing_calls_no_label_wrong(audit):
    trusting = replace(audit, distrusts=False)
    assert trusting.called == 0 < audit.called
    assert trusting.sentence().startswith("the run distrusted none of its 90 labels")


def test_the_list_as_csv_and_json(audit):
    lines = audit_csv(audit).splitlines()
    assert lines[0] == "file,label,likely,P(wrong),why"
    assert len(lines) == 92
    assert json.loads(audit_json(audit))["findings"][0]["file"] in MISTAKES


def test_too_few_images_are_told(tmp_path):
    write_photos(tmp_path / "few", each=2)
    with pytest.raises(UserError, match="has 2 readable images; an audit needs 3"):
        audit_images(labelled_images(str(tmp_path / "few")), QUICK)


def test_images_of_a_set_are_named_by_their_position():
    found = labelled_images("digits")
    assert found.names[:2] == ["train/0", "train/1"]
    assert isinstance(found.images, torch.Tensor)
