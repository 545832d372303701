import numpy as np
from data.formats import encoded, picture, write_photos

from metamixup.data import from_arrays
from metamixup.data.check import check_folder, check_set


def test_counts_damage_and_duplicates_of_a_folder(tmp_path):
    write_photos(tmp_path / "train", count=40)
    write_photos(tmp_path / "test", ("cat",), count=2)
    (tmp_path / "test" / "cat" / "new.png").write_bytes(encoded(picture(seed=999)))
    (tmp_path / "train" / "dog" / "bad.png").write_bytes(b"broken")
    (tmp_path / "train" / "dog" / "[red]void.png").write_bytes(b"")
    found = check_folder(tmp_path)
    assert found.histogram == [("cat", 40, 3), ("dog", 40, 0)]
    assert found.shape == (3, 64, 64)
    assert [("bad.png" in text, "void.png" in text) for text in found.damaged] == [(False, True), (True, False)]
    assert found.duplicates == [("train/cat/0.png", "test/cat/0.png"), ("train/cat/1.png", "test/cat/1.png")]


def test_counts_and_duplicates_of_arrays():
    x = np.random.default_rng(0).integers(0, 256, (10, 4, 4), dtype=np.uint8)
    found = check_set(
        from_arrays(x, np.arange(10) % 2, x[[3, 4]] // np.array([[[1]], [[2]]], np.uint8), [1, 0], unlabelled=x)
    )
    assert found.histogram == [("0", 5, 1), ("1", 5, 1)]
    assert found.duplicates == [("training image 3", "test image 0")]
    assert found.unlabelled == 10
