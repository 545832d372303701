import pytest
from data.formats import cifar10_files, idx_bytes, write_mnist, write_photos
from data.hostile import fuzzed
from hypothesis import given
from hypothesis import strategies as st

from metamixup import data
from metamixup.data import known
from metamixup.data.splits import split
from metamixup.errors import DataError, UserError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Neither this machine's data nor its cache."""
    monkeypatch.delenv("METAMIXUP_DATA", raising=False)
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(known, "DEBIAN", tmp_path / "debian")


def test_the_names():
    assert {"digits", "mnist", "fashion", "svhn", "cifar10", "cifar100", "imagenet"} <= set(data.known_data())


def test_the_embedded_digits():
    found = data.load("digits")
    assert (found.shape, len(found.train), len(found.test), found.flips) == ((1, 8, 8), 1347, 450, False)
    assert int(found.train.images.max()) == 255
    parts = split(found.train.labels, 10, seed=0, meta_per_class=found.meta_per_class)
    assert (len(parts.train), len(parts.meta)) == (1247, 100)


@pytest.mark.parametrize("sub", ["mnist", "MNIST/raw", "."])
@pytest.mark.parametrize("by", ["flag", "variable"])
def test_where_mnist_is_found(tmp_path, monkeypatch, sub, by):
    write_mnist(tmp_path / "data" / sub)
    if by == "variable":
        monkeypatch.setenv("METAMIXUP_DATA", str(tmp_path / "data"))
    assert len(data.load("mnist", tmp_path / "data" if by == "flag" else None).train) == 30


def test_the_flag_wins_over_the_variable_and_that_over_debian(tmp_path, monkeypatch):
    for count, place in enumerate(("flag", "variable", "debian"), start=1):
        write_mnist(tmp_path / place / "fashion-mnist", per_class=count)
    assert len(data.load("fashion").train) == 30
    monkeypatch.setenv("METAMIXUP_DATA", str(tmp_path / "variable"))
    assert len(data.load("fashion").train) == 20
    assert len(data.load("fashion", tmp_path / "flag").train) == 10


def test_what_is_not_found_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"mnist: its files were not found .*METAMIXUP_DATA"):
        data.load("mnist", tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        data.load("mnist", tmp_path / "nowhere")


def test_names_and_paths_that_do_not_exist(tmp_path):
    with pytest.raises(UserError, match="did you mean 'cifar10'"):
        data.load("cifar")
    with pytest.raises(DataError, match="no such file or folder"):
        data.load("./cifar")
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(DataError, match="not a data set"):
        data.load(tmp_path / "notes.txt")


def test_imagenet_is_a_folder_at_100_pixels(tmp_path):
    write_photos(tmp_path / "imagenet" / "train", count=3)
    write_photos(tmp_path / "imagenet" / "val", count=1)
    assert data.load("imagenet", tmp_path).shape == (3, 100, 100)
    assert data.load("imagenet", tmp_path, image_size=20).shape == (3, 20, 20)


def test_sizes_are_for_folders(tmp_path):
    for name, content in cifar10_files().items():
        (tmp_path / name).write_bytes(content)
    assert data.load("cifar10", tmp_path, image_size=32).shape == (3, 32, 32)
    with pytest.raises(UserError, match="32×32"):
        data.load("cifar10", tmp_path, image_size=64)


@fuzzed
@given(name=st.text(max_size=30).filter(lambda name: "/" not in name))
def test_any_name_gives_data_or_an_error(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError):
        data.load(f"no-{name}")


def test_idx_bytes_of_the_tests_are_what_mnist_looks_like():
    import numpy as np

    assert idx_bytes(np.zeros((2, 1, 1)))[:8].hex() == "0000080300000002"
