from dataclasses import replace

import numpy as np
import pytest
import torch

from metamixup.audit.findings import Audit, Finding, audit_csv
from metamixup.data import from_arrays
from metamixup.data.relabel import UNCHANGED, corrected_test_labels, read_labels, read_names
from metamixup.errors import DataError


@pytest.fixture
def found():
    images = np.random.default_rng(0).integers(0, 255, (12, 8, 8, 1), dtype=np.uint8)
    return from_arrays(images, np.arange(12) % 3, images[:3], np.arange(3), classes=["ant", "bee", "cat"])


def test_an_archive_holds_a_label_for_every_image(tmp_path, found):
    np.savez(tmp_path / "one.npz", anything=np.full(12, 2))
    assert read_labels(str(tmp_path / "one.npz"), found).tolist() == [2] * 12
    np.savez(tmp_path / "two.npz", a=np.zeros(12, int), b=np.ones(12, int))
    assert read_labels(f"{tmp_path / 'two.npz'}:b", found).tolist() == [1] * 12


def test_a_table_names_as_many_images_as_need_be(tmp_path, found):
    (tmp_path / "labels.csv").write_text("file,label,why\ntrain/3,cat,seen\n5,0,seen\n")
    labels = read_labels(str(tmp_path / "labels.csv"), found)
    assert labels[3] == 2
    assert labels[5] == 0
    assert int((labels != UNCHANGED).sum()) == 2


def test_files_are_known_by_their_names(tmp_path, found):
    named = from_arrays(found.train.images.movedim(1, 3).numpy(), found.train.labels.numpy(), classes=found.classes)
    train = named.train.take(torch.arange(len(named.train)))
    object.__setattr__(train, "names", tuple(f"bee/{k}.png" for k in range(len(train))))
    object.__setattr__(named, "train", train)
    (tmp_path / "list.txt").write_text("bee/2.png\n\nbee/0.png\n")
    assert read_names(tmp_path / "list.txt", named).tolist() == [0, 2]


def test_test_images_are_corrected_too_and_never_vouched_for(tmp_path, found):
    named = replace(found, test=replace(found.test, names=("bee/a.png", "-b.png", "c.png")))
    (tmp_path / "labels.csv").write_text("file,label\nbee/a.png,cat\n'-b.png,0\ntrain/4,bee\n")
    assert corrected_test_labels(str(tmp_path / "labels.csv"), named).tolist() == [2, 0, 2]
    assert int((read_labels(str(tmp_path / "labels.csv"), named) != UNCHANGED).sum()) == 1
    assert read_names(tmp_path / "labels.csv", named).tolist() == [4]


def test_images_that_were_suspicious_are_no_fair_sample(tmp_path, found):
    head, suspicious = "file,label,verdict,chosen\n", "train/3,cat,relabelled,suspicion\n"
    (tmp_path / "labels.csv").write_text(f"{head}{suspicious}train/4,bee,confirmed,random\n")
    assert int((read_labels(str(tmp_path / "labels.csv"), found) != UNCHANGED).sum()) == 2
    assert read_names(tmp_path / "labels.csv", found).tolist() == [4]
    (tmp_path / "labels.csv").write_text(f"{head}{suspicious}")
    with pytest.raises(DataError, match="none of its 1 was chosen at random"):
        read_names(tmp_path / "labels.csv", found)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "file,label\ntrain/99,cat\n", "line 2: 'train/99' is no training or test image"),
        ("a.csv", "file,label\ntrain/1,dog\n", "line 2: 'dog' is none of the classes; known: ant, bee, cat"),
        ("a.csv", "file,label\ntrain/1,Bee\n", r"line 2: 'Bee' is none of the classes; did you mean 'bee'\?"),
        ("a.csv", "file,label\ntrain/1,ant\n1,ant\n1,bee\n", "line 4: '1' is 'bee' there, but 'ant' in line 2; keep"),
        ("a.csv", "photo,what\n", "needs the columns file and label"),
        ("a.csv", "file,label\ntrain/1\n", "line 2: has 1 columns"),
        ("a.csv", "\nfile,label\n\ntrain/1,ant\n\ntrain/1,dog\n", "line 6: 'dog' is none of the classes"),
        ("a.csv", "file,label\n\n", "names no image below its first line"),
        ("a.npz", "nothing", "cannot be read as an .npz file"),
        ("a.txt", "file,label\n", r"read from a \.csv table or an \.npz archive"),
        ("a.tsv", "file\tlabel\n", r"read from a \.csv table or an \.npz archive"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, found, name, content, told):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=told):
        read_labels(str(tmp_path / name), found)


@pytest.mark.parametrize("name", ["{}", "./train/{}", "./caf\xe9/0.png"])
def test_a_name_that_several_images_share_is_told_however_it_is_spelled(tmp_path, found, name):
    strange = "cat/h\N{REPLACEMENT CHARACTER}.png"
    names = (strange, strange, "caf\xe9/0.png", "cafe\u0301/0.png", *(f"cat/{k}.png" for k in range(4, 12)))
    (tmp_path / "a.csv").write_text(f'file,label\n"{name.format(strange)}",ant\n', "utf-8")
    with pytest.raises(DataError, match=r"line 2: .* may be any of 2 images, whose names cannot be told apart"):
        read_labels(str(tmp_path / "a.csv"), replace(found, train=replace(found.train, names=names)))


def test_of_many_classes_five_are_named(tmp_path, found):
    (tmp_path / "a.csv").write_text("file,label\ntrain/1,dog\n")
    with pytest.raises(DataError, match=r"known: n00, n01, n02, n03, n04 and 995 more$"):
        read_labels(str(tmp_path / "a.csv"), replace(found, classes=tuple(f"n{k:02}" for k in range(1000))))


def test_archives_that_do_not_fit_are_refused(tmp_path, found):
    np.savez(tmp_path / "short.npz", y=np.zeros(5, int))
    with pytest.raises(DataError, match=r"5 labels, but .* has 12"):
        read_labels(str(tmp_path / "short.npz"), found)
    np.savez(tmp_path / "two.npz", a=np.zeros(12, int), b=np.ones(12, int))
    with pytest.raises(DataError, match=r"say which, as two\.npz:a"):
        read_labels(str(tmp_path / "two.npz"), found)
    with pytest.raises(DataError, match="no such file"):
        read_labels(str(tmp_path / "none.npz"), found)


@pytest.mark.parametrize(
    ("classes", "label", "expected"),
    [
        (("01", "02", "03"), "02", 1),
        (("01", "02", "03"), "2", 1),
        (("01", "02", "03"), "0", None),
        (("10", "5", "7"), "5", 1),
        (("10", "5", "7"), "1", None),
        (("1", "01", "2"), "01", 1),
        (("1", "01", "2"), "001", None),
        (("-1", "0", "1"), "-1", 0),
        (("-1", "0", "1"), "2", None),
        (("one", "2", "3"), "0", 0),
        (("one", "2", "3"), "2", 1),
        (("one", "2", "3"), "9" * 5000, None),
        (("caf\xe9", "dog", "cat"), "cafe\u0301", 0),
    ],
)
def test_a_number_is_the_class_of_that_name_and_else_a_position(tmp_path, found, classes, label, expected):
    """Where all classes are numbers, a position would be taken for a class, and nobody would be told."""
    (tmp_path / "a.csv").write_text(f"file,label\ntrain/4,{label}\n")
    data = replace(found, classes=classes)
    if expected is None:
        with pytest.raises(DataError, match="is none of the classes"):
            read_labels(str(tmp_path / "a.csv"), data)
    else:
        assert read_labels(str(tmp_path / "a.csv"), data)[4] == expected


def test_a_table_is_one_in_capitals_too(tmp_path, found):
    (tmp_path / "LABELS.CSV").write_text("file,label\ntrain/3,cat\n")
    assert read_labels(str(tmp_path / "LABELS.CSV"), found)[3] == 2
    assert read_names(tmp_path / "LABELS.CSV", replace(found, train=replace(found.train, labels=torch.full((12,), 2))))


def test_who_vouches_for_another_label_than_the_datas_is_told_to_give_it(tmp_path, found):
    (tmp_path / "a.csv").write_text("file,label\ntrain/1,bee\ntrain/3,cat\n")
    with pytest.raises(DataError, match=r"line 3: 'train/3' is 'cat' there, but 'ant' in the data.*--labels too"):
        read_names(tmp_path / "a.csv", found)
    corrected = replace(found.train, labels=read_labels(str(tmp_path / "a.csv"), found).clamp_min(0))
    assert read_names(tmp_path / "a.csv", replace(found, train=corrected)).tolist() == [1, 3]


def test_an_audits_list_is_no_meta_set(tmp_path, found):
    finding = Finding("train/3", "ant", "cat", 0.9, "label")
    (tmp_path / "list.csv").write_text(audit_csv(Audit("a", 12, found.classes, 0.1, 0, 0.2, [finding])))
    with pytest.raises(DataError, match=r"no fair sample for --meta, and this is an audit's list"):
        read_names(tmp_path / "list.csv", found)


@pytest.mark.parametrize(("name", "content"), [("a.txt", "a.png\n\nb.png\n"), ("a.csv", "file\nb.png\n")])
def test_a_meta_set_of_test_images_alone_is_refused(tmp_path, found, name, content):
    named = replace(found, test=replace(found.test, names=("a.png", "b.png", "c.png")))
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match="names test images alone"):
        read_names(tmp_path / name, named)


def test_lines_of_a_list_are_counted_with_blank_ones(tmp_path, found):
    (tmp_path / "a.txt").write_text("train/1\n\n\ntrain/99\n")
    with pytest.raises(DataError, match="line 4: 'train/99'"):
        read_names(tmp_path / "a.txt", found)
