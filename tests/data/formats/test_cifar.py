import numpy as np
import pytest
import torch
from data.formats import cifar10_files, cifar_records, tar_bytes
from data.hostile import damaged, data_or_error, fuzzed
from hypothesis import given
from hypothesis import strategies as st

from metamixup import data
from metamixup.data.formats.cifar import CIFAR10, cifar100, parse_records, read_cifar
from metamixup.errors import DataError


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_a_record_is_a_label_and_three_planes(tmp_path):
    content = cifar_records([[6], [9]])
    found = parse_records(CIFAR10, tmp_path, "x.bin", np.frombuffer(content, np.uint8).copy())
    assert found.labels.tolist() == [6, 9]
    assert found.images[1, 2].flatten().tolist() == list(content[3073 + 1 + 2048 : 2 * 3073])


def test_folder_and_archive_give_the_same(tmp_path):
    files = cifar10_files()
    write(tmp_path / "one" / "cifar-10-batches-bin", files)
    archive = {f"cifar-10-batches-bin/{name}": content for name, content in files.items()}
    write(tmp_path / "two", {"cifar-10-binary.tar.gz": tar_bytes(archive)})
    folder, packed = (data.load("cifar10", tmp_path / place) for place in ("one", "two"))
    assert (len(folder.train), len(folder.test), folder.shape) == (100, 20, (3, 32, 32))
    assert folder.train.images.is_contiguous()
    assert folder.classes == packed.classes
    assert folder.classes[8] == "ship"
    assert torch.equal(folder.train.images, packed.train.images)
    assert torch.equal(folder.test.labels, packed.test.labels)


@pytest.mark.parametrize(("name", "labels", "classes"), [("cifar100", [1, 2], 100), ("cifar100-coarse", [9, 8], 20)])
def test_fine_and_coarse_labels(tmp_path, name, labels, classes):
    files = {"train.bin": cifar_records([[9, 1], [8, 2]]), "test.bin": cifar_records([[0, 99]])}
    write(tmp_path / "cifar-100-binary", files)
    found = data.load(name, tmp_path)
    assert found.train.labels.tolist() == labels
    assert found.num_classes == classes


@pytest.mark.parametrize("name", ["cifar-10-python.tar.gz", "cifar-10-batches-py"])
def test_pickles_are_refused_with_the_reason(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="pickle runs any code"):
        data.load("cifar10", tmp_path)


def test_a_missing_batch_is_named(tmp_path):
    files = cifar10_files()
    del files["data_batch_3.bin"]
    write(tmp_path, files)
    with pytest.raises(DataError, match=r"data_batch_3\.bin is missing"):
        data.load("cifar10", tmp_path)


@pytest.mark.parametrize("content", [b"", b"x" * 3072, b"x" * 3074, b"\x0a" + b"x" * 3072])
def test_damaged_batches_are_named(tmp_path, content):
    write(tmp_path, cifar10_files() | {"data_batch_3.bin": content})
    with pytest.raises(DataError, match=r"data_batch_3\.bin"):
        data.load("cifar10", tmp_path)


SMALL = {"train.bin": cifar_records([[1, 2]]), "test.bin": cifar_records([[3, 4]])}


@fuzzed
@given(content=st.one_of(st.binary(max_size=4000), damaged(tar_bytes(SMALL)), damaged(tar_bytes(SMALL, False))))
def test_any_archive_gives_data_or_an_error(tmp_path, content):
    data_or_error(lambda path: read_cifar(cifar100(), path), tmp_path / "cifar-100-binary.tar.gz", content)
