import numpy as np
import pytest
import scipy.io

from metamixup import data
from metamixup.data.formats.svhn import read_svhn
from metamixup.errors import DataError


def write(path, count=20, **changes):
    rng = np.random.default_rng(count)
    arrays = {
        "X": rng.integers(0, 256, (32, 32, 3, count), dtype=np.uint8),
        "y": (np.arange(count) % 10 + 1).reshape(-1, 1).astype(np.uint8),
    }
    arrays |= changes
    scipy.io.savemat(path, arrays, do_compression=True)
    return arrays


def test_ten_is_read_as_zero_and_images_stand_upright(tmp_path):
    arrays = write(tmp_path / "train_32x32.mat")
    found = read_svhn(tmp_path / "train_32x32.mat")
    assert found.labels.tolist() == [*range(1, 10), 0] * 2
    np.testing.assert_array_equal(found.images.numpy(), arrays["X"].transpose(3, 2, 0, 1))


def test_labels_stored_as_doubles(tmp_path):
    write(tmp_path / "x.mat", 2, y=np.array([[10.0], [3.0]]))
    assert read_svhn(tmp_path / "x.mat").labels.tolist() == [0, 3]


def test_both_parts_by_name(tmp_path):
    write(tmp_path / "train_32x32.mat")
    write(tmp_path / "test_32x32.mat", 10)
    found = data.load("svhn", tmp_path)
    assert (len(found.train), len(found.test), found.flips) == (20, 10, False)


def test_one_file_by_path_is_split(tmp_path):
    write(tmp_path / "sample.mat", 55)
    found = data.load(tmp_path / "sample.mat")
    assert len(found.train) + len(found.test) == 55


def test_a_missing_part_is_named(tmp_path):
    write(tmp_path / "train_32x32.mat")
    with pytest.raises(DataError, match=r"test_32x32\.mat"):
        data.load("svhn", tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"X": np.zeros((32, 32, 3, 20))},
        {"X": np.zeros((32, 32, 20), np.uint8)},
        {"X": np.zeros((32, 32, 3, 0), np.uint8)},
        {"y": np.zeros((3, 1), np.uint8)},
        {"y": np.full((20, 1), 11, np.uint8)},
        {"y": np.full((20, 1), np.nan)},
    ],
)
def test_what_does_not_fit_is_named(tmp_path, changes):
    write(tmp_path / "x.mat", **changes)
    with pytest.raises(DataError, match=r"x\.mat"):
        read_svhn(tmp_path / "x.mat")
