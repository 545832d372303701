import shutil

import pytest
from data.formats import encoded, picture, write_photos

from metamixup.data import load
from metamixup.data.vouched import with_vouched
from metamixup.errors import DataError


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "cache"))
    write_photos(tmp_path / "photos", count=10)
    return tmp_path / "photos"


def write_new(folder, *names):
    for k, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encoded(picture(seed=77 + k)))


def test_new_images_join_the_training_set(photos, tmp_path):
    write_new(tmp_path / "vouched", "cat/a.png", "dog/b.png")
    found = with_vouched(load(photos), tmp_path / "vouched")
    assert [found.train.names[k] for k in found.vouched_for] == ["vouched/cat/a.png", "vouched/dog/b.png"]


def test_copies_of_training_images_are_let_in_and_those_of_test_images_are_not(photos, tmp_path):
    found = load(photos)
    write_new(tmp_path / "vouched", "cat/a.png", "dog/b.png")
    shutil.copy(photos / found.train.names[0], tmp_path / "vouched" / "cat" / "seen.png")
    assert len(with_vouched(found, tmp_path / "vouched").vouched_for) == 3
    shutil.copy(photos / found.test.names[-1], tmp_path / "vouched" / "dog" / "new name.png")
    told = f"1 of its 4 images are copies of test images.*: vouched/dog/new name.png = {found.test.names[-1]}; take"
    with pytest.raises(DataError, match=told):
        with_vouched(found, tmp_path / "vouched")


@pytest.mark.parametrize("same", ["", "cat/.."])
def test_the_data_does_not_vouch_for_itself(photos, same):
    with pytest.raises(DataError, match="is the data itself; vouch for images of the data by a list"):
        with_vouched(load(photos), photos / same)


@pytest.mark.parametrize("part", ["train", "test", "meta"])
def test_nor_does_a_part_of_it(photos, tmp_path, part):
    whole = tmp_path / "whole"
    for name in ("train", "test"):
        write_photos(whole / name, count=3)
    write_new(whole / "meta", "cat/a.png", "dog/b.png")
    with pytest.raises(DataError, match=f"in the data already, {part}/cat/.*leave out --meta"):
        with_vouched(load(whole), whole / part)


def test_a_folder_in_the_data_that_is_none_of_it_serves(photos, tmp_path):
    write_photos(tmp_path / "whole" / "train", count=10)
    write_new(tmp_path / "whole" / "checked", "cat/a.png", "dog/b.png")
    assert len(with_vouched(load(tmp_path / "whole"), tmp_path / "whole" / "checked").vouched_for) == 2
