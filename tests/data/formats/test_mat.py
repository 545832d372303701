import io
import struct

import numpy as np
import pytest
import scipy.io
from data.hostile import damaged, data_or_error, fuzzed
from hypothesis import given
from hypothesis import strategies as st

from metamixup.data.formats.mat import read_mat
from metamixup.errors import DataError

WANTED = frozenset({"X", "y"})


def mat_bytes(arrays, compressed=True):
    target = io.BytesIO()
    scipy.io.savemat(target, arrays, do_compression=compressed)
    return target.getvalue()


X = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 2), dtype=np.uint8)
SOUND = {"X": X, "y": np.array([[10], [1]], np.uint8), "note": "text", "nested": {"a": 1.5}}


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "f4", "f8", "i8"])
def test_agrees_with_scipy(tmp_path, compressed, dtype):
    arrays = SOUND | {"X": X.astype(dtype)}
    path = tmp_path / "some.mat"
    path.write_bytes(mat_bytes(arrays, compressed))
    found, reference = read_mat(path, WANTED), scipy.io.loadmat(path)
    assert set(found) == WANTED
    for name in WANTED:
        np.testing.assert_array_equal(found[name], reference[name])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not a .mat file"),
        (b"MATLAB 7.3 MAT-file" + bytes(200), "-v7"),
        (mat_bytes(SOUND, False)[:700], "truncated"),
        (mat_bytes({"X": np.array(["text"], object)}), "not a plain numeric array"),
        (mat_bytes({"X": np.array([1j])}), "not a plain numeric array"),
        (mat_bytes({"X": {"field": 1.0}}), "not a plain numeric array"),
    ],
)
def test_what_is_not_read_is_told(tmp_path, content, told):
    path = tmp_path / "some.mat"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        read_mat(path, WANTED)
    assert str(path) in str(caught.value)


def test_a_bomb_is_not_unpacked(tmp_path):
    content = mat_bytes({"X": np.zeros(2**26, np.uint8)})
    assert len(content) < 2**18
    assert data_or_error(lambda path: read_mat(path, WANTED), tmp_path / "bomb.mat", content) is None


def test_a_lying_size_is_not_believed(tmp_path):
    sound = mat_bytes({"X": np.zeros(64, np.uint8)}, compressed=False)
    place = sound.index(struct.pack("<II", 2, 64))
    content = sound[:place] + struct.pack("<II", 2, 2**31) + sound[place + 8 :]
    assert data_or_error(lambda path: read_mat(path, WANTED), tmp_path / "liar.mat", content) is None


@fuzzed
@given(content=st.one_of(st.binary(max_size=300), *(damaged(mat_bytes(SOUND, packed)) for packed in (True, False))))
def test_any_bytes_give_arrays_or_an_error(tmp_path, content):
    data_or_error(lambda path: read_mat(path, WANTED), tmp_path / "fuzzed.mat", content)


@fuzzed
@given(content=st.binary(max_size=300))
def test_any_bytes_after_a_sound_header(tmp_path, content):
    data_or_error(lambda path: read_mat(path, WANTED), tmp_path / "fuzzed.mat", mat_bytes({})[:128] + content)
