import pytest
from data.formats import write_photos

from metamixup.errors import DataError, UserError
from metamixup.settings.build.data import build_data, build_split
from metamixup.settings.resolve import resolve


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
