import numpy as np
import pytest
import torch
from data.formats import write_photos

from metamixup.errors import DataError, UserError
from metamixup.settings.build import build_training
from metamixup.settings.build.data import build_data, build_split
from metamixup.settings.resolve import resolve, with_whole_paths


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "cache"))


def split_of(folder, **given):
    settings = resolve({"data": str(folder), **given})
    found = build_data(settings)
    return found, build_split(settings, found)


@pytest.mark.parametrize("in_train", [True, False])
def test_images_that_are_vouched_for_are_the_meta_set(tmp_path, in_train):
    write_photos(tmp_path / "photos", count=10)
    write_photos(tmp_path / "photos" / "meta", count=2)
    found, parts = split_of(tmp_path / "photos", **{"meta.in_train": in_train})
    assert parts.meta.tolist() == found.vouched_for.tolist()
    assert len(parts.meta) == 4
    assert len(parts.train) == (20 if in_train else 16)
    with pytest.raises(UserError, match="a meta set of its own"):
        split_of(tmp_path / "photos", **{"meta.per_class": 1})


def test_too_few_images_tell_of_those_without_a_label(tmp_path):
    write_photos(tmp_path / "photos", ("bear", "cat"), count=5)
    write_photos(tmp_path / "photos" / "unlabelled", ("any",), count=3)
    told = r"class 'bear' has 4 .*--set meta.per_class=….* 3 images without a label lie there"
    with pytest.raises(DataError, match=told):
        split_of(tmp_path / "photos", **{"meta.per_class": 6})


def built(**given):
    return build_training(resolve({"data": "digits", **{k.replace("__", "."): v for k, v in given.items()}}))


def test_labels_from_a_file_are_trained_on(tmp_path):
    plain = built()
    (tmp_path / "labels.csv").write_text("file,label\ntrain/0,7\ntrain/1,7\n")
    changed = built(labels=str(tmp_path / "labels.csv"))
    assert changed.train.images.labels[:2].tolist() == [7, 7]
    assert torch.equal(changed.train.images.labels[2:], plain.train.images.labels[2:])
    assert changed.wrong is None


def test_peoples_labels_for_an_experiment_leave_the_meta_set_clean(tmp_path):
    plain = built()
    others = (plain.train.images.labels + 1) % 10
    np.savez(tmp_path / "people.npz", labels=others.numpy())
    run = built(corrupt__kind="file", corrupt__file=str(tmp_path / "people.npz"))
    meta, labels = run.meta.index, run.train.images.labels
    assert torch.equal(labels[meta], plain.train.images.labels[meta])
    assert int(run.wrong.sum()) == len(labels) - len(meta)


def test_peoples_labels_are_found_in_the_data_folder(tmp_path, monkeypatch):
    plain = built().train.images
    np.savez(tmp_path / "people.npz", one=((plain.labels + 1) % 10).numpy())
    given = with_whole_paths({"data_dir": str(tmp_path), "corrupt.kind": "file", "corrupt.file": "people.npz:one"})
    assert given["corrupt.file"] == "people.npz:one"
    assert bool(built(**given).wrong.any())
    monkeypatch.chdir(tmp_path)
    assert with_whole_paths({"corrupt.file": "people.npz:one"})["corrupt.file"] == f"{tmp_path}/people.npz:one"
    with pytest.raises(DataError, match="no such file"):
        built(**{**given, "corrupt.file": "other.npz"})


def test_vouched_images_are_the_meta_set(tmp_path):
    (tmp_path / "list.txt").write_text("\n".join(f"train/{k}" for k in (3, 1, 4)))
    run = built(meta__source=str(tmp_path / "list.txt"))
    assert run.meta.index.tolist() == [1, 3, 4]
    assert 3 in run.train.index
    held_out = built(meta__source=str(tmp_path / "list.txt"), meta__in_train=False)
    assert 3 not in held_out.train.index


def test_without_a_meta_set_only_policies_that_need_none(tmp_path):
    run = built(meta__source="none")
    assert run.meta is None
    assert "meta" not in {s.name for s in run.evaluation}
    with pytest.raises(UserError, match="learns from a meta set"):
        built(meta__source="none", method="metamixup")


def test_a_folder_that_is_vouched_for_joins_the_training_images(tmp_path):
    write_photos(tmp_path / "photos", count=10)
    write_photos(tmp_path / "vouched", count=2, width=41)
    found, parts = split_of(tmp_path / "photos", **{"meta.source": str(tmp_path / "vouched")})
    assert len(parts.meta) == 4
    assert len(parts.train) == len(found.train) == 20
    assert found.train.names[int(parts.meta[0])].startswith("vouched/")
