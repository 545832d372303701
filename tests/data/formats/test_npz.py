import io
import zipfile

import numpy as np
import pytest
import torch
from data.hostile import damaged, data_or_error, fuzzed
from hypothesis import given
from hypothesis import strategies as st

from metamixup import data
from metamixup.data.formats.npz import load_npz
from metamixup.errors import DataError

X = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 3), dtype=np.uint8)
Y = np.arange(10) % 2


def npz_bytes(save=np.savez, **arrays):
    target = io.BytesIO()
    save(target, **arrays)
    return target.getvalue()


def write(path, **arrays):
    path.write_bytes(npz_bytes(**arrays))
    return path


@pytest.mark.parametrize(
    "names",
    [
        ("x_train", "y_train", "x_test", "y_test"),
        ("train_images", "train_labels", "test_images", "test_labels"),
    ],
)
def test_the_usual_names(tmp_path, names):
    found = data.load(write(tmp_path / "a.npz", **dict(zip(names, (X, Y[:, None], X[:4], Y[:4]), strict=True))))
    assert (found.shape, len(found.train), len(found.test), found.num_classes) == ((3, 8, 8), 10, 4, 2)
    np.testing.assert_array_equal(found.train.images.numpy(), X.transpose(0, 3, 1, 2))


def test_without_a_test_set_a_fifth_becomes_it(tmp_path):
    found = load_npz(write(tmp_path / "a.npz", x=X, y=Y))
    assert (len(found.train), sorted(found.test.labels.tolist())) == (8, [0, 1])


def test_names_of_classes_unlabelled_images_and_fortran_order(tmp_path):
    arrays = {"x": np.asfortranarray(X), "y": Y, "classes": np.array(["cat", "dog"]), "unlabelled": X[:3]}
    found = load_npz(write(tmp_path / "a.npz", **arrays))
    assert found.classes == ("cat", "dog")
    assert found.unlabelled is not None
    assert len(found.unlabelled) == 3
    assert torch.cat([found.train.images, found.test.images]).float().mean() == X.astype(np.float32).mean()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cannot be read"),
        (npz_bytes(a=X), "x_train"),
        (npz_bytes(x=X), "x_train"),
        (npz_bytes(x=X, y=np.array([object()] * 10)), "pickle"),
        (npz_bytes(x=X[:3], y=Y), "3 images but 10 labels"),
        (npz_bytes(x=X, y=Y - 1), "labels"),
        (npz_bytes(x=X, y=Y / 3), "class numbers"),
        (npz_bytes(x=X[0, 0], y=Y), "images have to be"),
        (npz_bytes(x=np.full((2, 4, 4), np.nan), y=Y[:2]), "finite"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, content, told):
    path = tmp_path / "some.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        load_npz(path)
    assert str(path) in str(caught.value)


def test_a_bomb_is_not_unpacked(tmp_path):
    content = npz_bytes(np.savez_compressed, x=np.zeros((1, 2**13, 2**13), np.uint8), y=[0])
    assert len(content) < 2**17
    assert data_or_error(load_npz, tmp_path / "bomb.npz", content) is None


def test_a_lying_header_is_not_believed(tmp_path):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999, 9, 9, 9), }\n"
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"few")
        archive.writestr("y.npy", npz_bytes(y=Y))
    assert data_or_error(load_npz, tmp_path / "liar.npz", target.getvalue()) is None


SOUND = npz_bytes(x=X[:4, :4, :4], y=Y[:4])
PACKED = npz_bytes(np.savez_compressed, x=X[:4, :4, :4], y=Y[:4])


@fuzzed
@given(content=st.one_of(st.binary(max_size=200), damaged(SOUND), damaged(PACKED)))
def test_any_bytes_give_data_or_an_error(tmp_path, content):
    data_or_error(load_npz, tmp_path / "fuzzed.npz", content)
