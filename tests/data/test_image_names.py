import os
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from metamixup.data import from_arrays
from metamixup.data.image_names import ImageNames, names_of

TRAIN = ("cat/1.png", "photos/1.png", "caf\xe9 /1.png", "a\\b/1.png", "train/dog/2.png")


@pytest.fixture
def named(tmp_path):
    images = np.zeros((5, 8, 8), np.uint8)
    found = from_arrays(images, np.arange(5) % 2, images[:1], [0], classes=["0", "1"])
    train, test = replace(found.train, names=TRAIN), replace(found.test, names=("cat/2.png",))
    return replace(found, name=str(tmp_path / "deep" / "photos"), train=train, test=test)


@pytest.mark.parametrize("name", ["cat/1.png", "cat\\1.png", "./cat/1.png", ".\\cat\\1.png", "train/cat/1.png"])
def test_paths_in_the_data_folder(named, name):
    assert ImageNames(named).find(name) == [("train", 0)]


@pytest.mark.parametrize("above", ["photos", "deep/photos", "deep\\photos", "{root}"])
def test_paths_that_lead_to_the_data_folder(named, above):
    """As `predict --format csv` prints them, in whatever working directory that was."""
    assert ImageNames(named).find(f"{above.format(root=named.name)}/cat/2.png") == [("test", 0)]


def test_paths_from_the_working_directory_and_through_a_link(named, tmp_path, monkeypatch):
    (tmp_path / "deep" / "photos").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    monkeypatch.chdir(tmp_path / "beside")
    assert ImageNames(named).find("../deep/photos/cat/1.png") == [("train", 0)]
    os.symlink(named.name, tmp_path / "link")
    linked = ImageNames(replace(named, name=str(tmp_path / "link")))
    assert linked.find(f"{named.name}/cat/1.png") == linked.find(f"{tmp_path}/link/cat/1.png") == [("train", 0)]


def test_a_name_that_is_right_as_it_stands_stays(named):
    known = ImageNames(named)
    assert [known.find(name) for name in TRAIN] == [[("train", k)] for k in range(5)]
    assert known.find("dog/2.png") == [("train", 4)]


def test_names_in_another_form_of_unicode(named):
    known = ImageNames(named)
    assert known.find(unicodedata.normalize("NFD", "caf\xe9/1.png")) == [("train", 2)]


@pytest.mark.parametrize("name", ["1.png", "cat", "other/photos/cat/1.png", "/cat/1.png", "", "cat/1.PNG"])
def test_anything_else_is_no_image(named, name):
    assert ImageNames(named).find(name) == []


def test_images_without_files_go_by_their_numbers(named):
    plain = replace(named, train=replace(named.train, names=None), test=replace(named.test, names=None))
    assert list(names_of(plain)) == [f"train/{k}" for k in range(5)]
    known = ImageNames(plain)
    assert known.find("train/3") == known.find("3") == [("train", 3)]


@pytest.mark.parametrize("name", ["cat/1.png", "train/cat/1.png", "Training/cat/1.png"])
def test_the_folder_of_the_training_images_by_any_of_its_names(named, name):
    renamed = replace(named, train=replace(named.train, names=tuple(f"Training/{file}" for file in TRAIN)))
    assert ImageNames(renamed).find(name) == [("train", 0)]


@pytest.mark.parametrize("spelled", ["{}", "train/{}", "./{}", "photos/{}", "{} "])
def test_a_name_that_several_images_have_as_far_as_can_be_shown_finds_them_all(named, spelled):
    alike = ("cat/h\N{REPLACEMENT CHARACTER}.png",) * 2 + ("caf\xe9/1.png", "cafe\u0301/1.png", "dog/1.png")
    known = ImageNames(replace(named, train=replace(named.train, names=alike)))
    assert known.find(spelled.format(alike[0])) == [("train", 0), ("train", 1)]
    assert [known.find(name) for name in alike[2:]] == [[("train", 2)], [("train", 3)], [("train", 4)]]
    assert known.find("./caf\xe9/1.png ") == [("train", 2), ("train", 3)]  # by neither name
