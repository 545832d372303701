import gzip
import struct

import numpy as np
import pytest
import torch
from data.formats import idx_bytes, write_mnist
from data.hostile import damaged, data_or_error, fuzzed
from hypothesis import given
from hypothesis import strategies as st

from metamixup.data.formats.idx import load_fashion, load_mnist, read_idx
from metamixup.errors import DataError

SOUND = idx_bytes(np.arange(24).reshape(2, 3, 4))


@pytest.mark.parametrize("packed", [True, False])
def test_reads_what_was_written(tmp_path, packed):
    array = np.random.default_rng(0).integers(0, 256, (5, 7, 3))
    path = tmp_path / "images"
    path.write_bytes(gzip.compress(idx_bytes(array)) if packed else idx_bytes(array))
    torch.testing.assert_close(read_idx(path, 3), torch.from_numpy(array).to(torch.uint8))


@pytest.mark.parametrize("packed", [True, False])
def test_mnist_and_fashion_from_their_four_files(tmp_path, packed):
    write_mnist(tmp_path, packed=packed)
    mnist, fashion = load_mnist(tmp_path), load_fashion(tmp_path)
    assert mnist.shape == (1, 28, 28)
    assert mnist.train.labels.bincount().tolist() == [3] * 10
    assert not mnist.flips
    assert fashion.flips
    assert fashion.classes[9] == "ankle boot"


def test_a_missing_file_is_named(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match="train-labels-idx1-ubyte"):
        load_mnist(tmp_path)


def test_unequal_numbers_of_images_and_labels(tmp_path):
    write_mnist(tmp_path, packed=False)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(3)))
    with pytest.raises(DataError, match="30 images but 3 labels"):
        load_mnist(tmp_path)


def test_labels_outside_the_classes(tmp_path):
    write_mnist(tmp_path, packed=False)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx_bytes(np.full(30, 11)))
    with pytest.raises(DataError, match="outside the classes"):
        load_mnist(tmp_path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not an idx file"),
        (b"\0\0\x08\x03\0\0", "header"),
        (b"\0\0\x0d\x03" + SOUND[4:], "not an idx file"),
        (SOUND[:-1], "truncated"),
        (SOUND + b"!", "more than"),
        (gzip.compress(SOUND, mtime=0)[:-9], "cannot be read|truncated"),
        (struct.pack(">4B3I", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1), "promises"),
        (struct.pack(">4B3I", 0, 0, 8, 3, 2**14, 2**14, 1), "promises"),
    ],
)
def test_damaged_files_are_named(tmp_path, content, told):
    path = tmp_path / "some-idx"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        read_idx(path, 3)
    assert str(path) in str(caught.value)


def test_a_gzip_bomb_is_not_unpacked(tmp_path):
    zeros = gzip.compress(bytes(2**22))
    header = gzip.compress(struct.pack(">4B3I", 0, 0, 8, 3, 64, 2**11, 2**11))
    assert data_or_error(lambda path: read_idx(path, 3), tmp_path / "bomb", header + zeros * 64) is None


@fuzzed
@given(content=st.one_of(st.binary(max_size=200), damaged(SOUND), damaged(gzip.compress(SOUND, mtime=0))))
def test_any_bytes_give_data_or_an_error(tmp_path, content):
    found = data_or_error(lambda path: read_idx(path, 3), tmp_path / "fuzzed", content)
    assert found is None or (found.ndim == 3 and found.dtype == torch.uint8)
