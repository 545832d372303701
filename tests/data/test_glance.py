import numpy as np
import pytest
from data.formats import write_photos

from metamixup.data import known
from metamixup.data.formats.npz import load_npz
from metamixup.data.glance import Glance, glance


def test_a_folder_is_counted_without_decoding_it(tmp_path):
    write_photos(tmp_path / "photos", count=10, width=32, height=32)
    (tmp_path / "photos" / "cat" / "0.png").write_bytes(b"damaged, but the first look does not mind")
    assert glance(str(tmp_path / "photos")) == Glance(16, 2, (3, 32, 32))
    assert glance(str(tmp_path / "photos"), 48) == Glance(16, 2, (3, 48, 48))


def test_a_file_is_counted(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((30, 8, 8), np.uint8), y=np.arange(30) % 3)
    assert glance(str(tmp_path / "a.npz")) == Glance(24, 3, (1, 8, 8))


def test_a_file_that_a_glance_has_read_is_not_read_again_unless_it_changed(tmp_path, monkeypatch):
    read, path = [], tmp_path / "a.npz"
    monkeypatch.setitem(known.FILES, ".npz", lambda path: read.append(path) or load_npz(path))
    np.savez(path, x=np.zeros((30, 8, 8), np.uint8), y=np.arange(30) % 3)
    assert glance(str(path)).images == glance(str(path)).images == len(known.load(path).train) == 24
    assert len(read) == 1
    assert len(known.load(path).train) == 24  # it was handed over once
    assert len(read) == 2
    np.savez(path, x=np.zeros((60, 8, 8), np.uint8), y=np.arange(60) % 3)
    assert glance(str(path)).images == 48
    np.savez(path, x=np.zeros((90, 8, 8), np.uint8), y=np.arange(90) % 3)
    assert len(known.load(path).train) == 72


@pytest.mark.parametrize("name", ["digits", "mnist", "no such data", "./nowhere", "x" * 5000, "a\0b", "~nosuchuser/x"])
def test_named_and_unreadable_data_tell_nothing(name):
    assert glance(name) is None
