import numpy as np
import pytest
from data.formats import encoded, picture, write_photos
from PIL import Image

from metamixup.data import from_arrays
from metamixup.data.check import check_folder, check_set, set_aside
from metamixup.data.folder import tree
from metamixup.errors import UserError


def test_counts_damage_and_duplicates_of_a_folder(tmp_path):
    write_photos(tmp_path / "train", count=40)
    write_photos(tmp_path / "test", ("cat",), count=2)
    (tmp_path / "test" / "cat" / "new.png").write_bytes(encoded(picture(seed=999)))
    (tmp_path / "train" / "dog" / "bad.png").write_bytes(b"broken")
    (tmp_path / "train" / "dog" / "[red]void.png").write_bytes(b"")
    found = check_folder(tmp_path)
    assert found.histogram == [("cat", 40, 3), ("dog", 40, 0)]
    assert found.shape == (3, 64, 64)
    assert [path.name for path in found.damaged] == ["[red]void.png", "bad.png"]
    assert all(path.name in problem for path, problem in found.damaged.items())
    assert found.duplicates == [("train/cat/0.png", "test/cat/0.png"), ("train/cat/1.png", "test/cat/1.png")]


def test_the_files_of_a_folder_are_sorted_into_parts_once(tmp_path, monkeypatch):
    write_photos(tmp_path, count=4)
    write_photos(tmp_path, ("meta/cat",), count=1)
    (tmp_path / "loose.png").write_bytes(encoded(picture(seed=999)))
    looked = []
    monkeypatch.setattr(tree, "_scan", lambda root, scan=tree._scan: looked.append(root) or scan(root))
    assert check_folder(tmp_path).of_no_class == ["loose.png"]
    assert len(looked) == 1


def test_counts_and_duplicates_of_arrays():
    x = np.random.default_rng(0).integers(0, 256, (10, 4, 4), dtype=np.uint8)
    found = check_set(
        from_arrays(x, np.arange(10) % 2, x[[3, 4]] // np.array([[[1]], [[2]]], np.uint8), [1, 0], unlabelled=x)
    )
    assert found.histogram == [("0", 5, 1), ("1", 5, 1)]
    assert found.duplicates == [("training image 3", "test image 0")]
    assert found.unlabelled == 10


def test_files_that_are_set_aside_keep_their_places_and_replace_nothing(tmp_path):
    root = tmp_path / "photos"
    write_photos(root, count=4)
    (root / "dog" / "trip").mkdir()
    bad = root / "dog" / "trip" / "bad.png"
    bad.write_bytes(b"broken")
    with pytest.raises(UserError, match="lies in the data set"):
        set_aside(root, [bad], root / "damaged")
    set_aside(root, [bad], tmp_path / "aside")
    assert (tmp_path / "aside" / "dog" / "trip" / "bad.png").read_bytes() == b"broken"
    assert check_folder(root).damaged == {}
    bad.write_bytes(b"another")
    with pytest.raises(UserError, match="is there already"):
        set_aside(root, [bad], tmp_path / "aside")
    assert bad.exists()


def test_what_is_too_large_is_not_damaged(tmp_path, monkeypatch):
    write_photos(tmp_path, count=4)
    (tmp_path / "cat" / "large.png").write_bytes(encoded(Image.new("RGB", (1000, 1000))))
    monkeypatch.setenv("METAMIXUP_IMAGE_MB", "1")
    found = check_folder(tmp_path)
    assert not found.damaged
    assert [path.name for path in found.too_large] == ["large.png"]
