import json
from dataclasses import replace

import pytest
import torch
from audit.photos import COLOURS, MISTAKES, write_photos

from metamixup.audit.audit import audit_images, recognises
from metamixup.audit.cross_validation import Plan
from metamixup.audit.findings import Finding, as_table, audit_csv, audit_json
from metamixup.audit.images import Labelled, labelled_images
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
    assert lost.note == "cannot be read as an image (not a JPEG, PNG or WebP file)"
    assert audit.low * 90 <= len(MISTAKES) <= audit.high * 90 + 1
    assert "labels look wrong; about" in audit.sentence()


def test_where_there_is_doubt_no_label_is_called_wrong(audit):
    doubted = replace(audit, doubt="nothing is known")
    assert doubted.called == 0 < audit.called
    assert doubted.sentence().startswith("nothing is known; 1 file cannot be read; each image is judged by")
    assert as_table(audit).rows[0][-1] == "likely wrong label"
    assert as_table(doubted).rows[0][-1] == "not known"


def test_what_else_was_found_is_counted(audit):
    file = Finding("a", "blue", "", 0.0, "unreadable")
    more = replace(audit, findings=[replace(file, why="duplicate"), replace(file, why="stranger"), file, file])
    told = more.sentence()
    assert told.startswith("0 labels look wrong; about")
    assert "; 1 image has a near duplicate with another label; 1 image looks like none of the classes; 2 files" in told
    assert replace(audit, findings=audit.findings[:1]).sentence().startswith("1 label looks wrong")


def test_networks_that_recognise_nothing_say_nothing_of_labels():
    random = torch.Generator().manual_seed(0)
    images = torch.randint(256, (60, 3, 16, 16), generator=random, dtype=torch.uint8)
    noise = Labelled(
        "noise", [str(k) for k in range(60)], images, torch.arange(60) % 3, tuple("abc"), (128.0,), (74.0,), False
    )
    found = audit_images(noise, QUICK)
    assert found.called == 0
    assert "no more of these images than guessing would" in found.sentence()


def test_classes_of_few_images_count_as_much_as_those_of_many():
    labels = torch.tensor([0] * 200 + [1] * 10)
    frequent, both = torch.zeros(210, dtype=torch.int64), labels.clone()
    both[:30] = 1
    assert not recognises(torch.nn.functional.one_hot(frequent, 2).float(), labels)
    assert recognises(torch.nn.functional.one_hot(both, 2).float(), labels)


def test_a_network_that_diverges_or_cannot_look_at_the_images_is_told(tmp_path):
    folder = str(write_photos(tmp_path / "photos", each=6))
    with pytest.raises(UserError, match="cnn-bn cannot look at images of 1×1 pixels"):
        audit_images(labelled_images(folder, image_size=1), QUICK)
    with pytest.raises(UserError, match="cnn3 diverged on these images"):
        audit_images(labelled_images(folder), replace(QUICK, lr=1e6), model="cnn3")


def test_characters_in_folders_are_not_mirrored(tmp_path):
    folder = write_photos(tmp_path / "photos", each=3)
    assert labelled_images(str(folder)).flips
    for k, name in enumerate(COLOURS):
        (folder / name).rename(folder / str(k))
    assert not labelled_images(str(folder)).flips


def test_the_list_as_csv_and_json(audit):
    lines = audit_csv(audit).splitlines()
    assert lines[0] == "file,label,likely,P(wrong),why"
    assert len(lines) == 92
    assert json.loads(audit_json(audit))["findings"][0]["file"] in MISTAKES


def test_too_few_images_are_told(tmp_path):
    write_photos(tmp_path / "few", each=2)
    with pytest.raises(UserError, match="has 2 images that can be read; an audit needs 3"):
        audit_images(labelled_images(str(tmp_path / "few")), QUICK)


def test_images_of_a_set_are_named_by_their_position():
    found = labelled_images("digits")
    assert found.names[:2] == ["train/0", "train/1"]
    assert isinstance(found.images, torch.Tensor)
