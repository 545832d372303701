import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch
from data.formats import encoded, picture, write_photos

from metamixup import data
from metamixup.data.folder import packed as cache
from metamixup.data.folder.files import files_of
from metamixup.data.folder.folder import image_shape, load_folder
from metamixup.data.folder.streamed import StreamedImages
from metamixup.data.subset import take_subset
from metamixup.errors import DataError
from metamixup.storage import locked


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("METAMIXUP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def photos(tmp_path):
    write_photos(tmp_path / "photos", count=10)
    return tmp_path / "photos"


def never(*_):
    raise AssertionError("decoded again")


def test_a_folder_becomes_a_data_set(photos):
    found = data.load(photos, image_size=16)
    assert (found.shape, found.classes) == ((3, 16, 16), ("cat", "dog"))
    assert (len(found.train), len(found.test)) == (16, 4)
    assert found.test.labels.bincount().tolist() == [2, 2]
    assert found.flips
    assert all(0 < value < 1 for value in (*found.mean, *found.std))


def test_every_image_is_in_its_place(photos):
    """Each has pixels of its own, so that a mix-up of files and labels would show."""
    from metamixup.data.folder.decode import decode

    found = data.load(photos, image_size=16)
    expected = {decode(path, 16, 3).tobytes(): path.parent.name for path in photos.rglob("*.png")}
    for part in (found.train, found.test):
        for image, label in zip(part.images, part.labels.tolist(), strict=True):
            assert expected.pop(image.numpy().tobytes()) == found.classes[label]
    assert not expected


def test_parts_and_unlabelled_images(tmp_path):
    write_photos(tmp_path / "p" / "train", count=4)
    write_photos(tmp_path / "p" / "val", count=2)
    write_photos(tmp_path / "p" / "unlabelled", ("any",), count=3)
    found = data.load(tmp_path / "p", image_size=8)
    assert (len(found.train), len(found.test)) == (8, 4)
    assert found.unlabelled is not None
    assert found.unlabelled.labels.tolist() == [-1] * 3


@pytest.mark.parametrize(
    ("width", "height", "mode", "shape"),
    [
        (28, 28, "L", (1, 28, 28)),
        (8, 8, "L", (1, 16, 16)),
        (40, 30, "RGB", (3, 64, 64)),
        (100, 100, "RGB", (3, 100, 100)),
        (200, 200, "L", (1, 64, 64)),
    ],
)
def test_the_shape_without_a_wish(tmp_path, width, height, mode, shape):
    write_photos(tmp_path / "p", count=2, width=width, height=height, mode=mode)
    assert data.load(tmp_path / "p").shape == shape


@pytest.mark.parametrize("odd", [picture(28, 28), picture(30, 28, "L")])
def test_one_other_image_among_many_decides_on_the_shape(tmp_path, odd):
    """Of so many, every other one would be read if a few were taken for all."""
    write_photos(tmp_path / "p", count=64, width=28, height=28, mode="L")
    assert load_folder(tmp_path / "p").shape == (1, 28, 28)
    (tmp_path / "p" / "dog" / "62.png").write_bytes(encoded(odd))
    expected = (3, 28, 28) if odd.mode == "RGB" else (1, 64, 64)
    assert load_folder(tmp_path / "p").shape == expected


def test_headers_are_read_no_further_than_they_matter(tmp_path, monkeypatch):
    write_photos(tmp_path / "p", count=3)
    files, asked = files_of(tmp_path / "p", 0), []
    monkeypatch.setattr("metamixup.data.folder.folder.probe", lambda path: asked.append(path) or (40, 30, False))
    assert image_shape(files, None) == (3, 64, 64)
    assert len(asked) == 1
    assert image_shape(files, None) == (3, 64, 64)
    assert len(asked) == 1


def test_the_second_time_nothing_is_decoded(photos, monkeypatch):
    first = data.load(photos, image_size=8)
    monkeypatch.setattr(cache, "decode_all", never)
    again = data.load(photos, image_size=8)
    assert torch.equal(first.train.images, again.train.images)


def test_another_size_has_another_cache(photos, cache_folder):
    assert data.load(photos, image_size=8).shape == (3, 8, 8)
    assert data.load(photos, image_size=12).shape == (3, 12, 12)
    assert len(list(cache_folder.glob("*-*"))) == 2


def test_a_changed_folder_is_packed_again_and_the_old_cache_goes(photos, cache_folder):
    data.load(photos, image_size=8)
    (photos / "cat" / "new.png").write_bytes(encoded(picture(seed=77)))
    found = data.load(photos, image_size=8)
    assert len(found.train) + len(found.test) == 21
    assert len(list(cache_folder.glob("*-*"))) == 1


def test_a_cache_that_another_process_removes_was_mapped_before(photos, cache_folder, monkeypatch):
    """The other one waits for the lock, and finds that the folder has changed."""
    before = data.load(photos, image_size=8).train.images.clone()

    @contextmanager
    def taken_over(*given):
        with locked(*given):
            yield
        for place in cache_folder.glob("*-*"):
            shutil.rmtree(place)

    monkeypatch.setattr(cache, "locked", taken_over)
    assert torch.equal(data.load(photos, image_size=8).train.images, before)


@pytest.mark.parametrize("damage", ["flip", "cut", "about", "missing"])
def test_a_damaged_cache_is_built_again(photos, cache_folder, damage):
    before = data.load(photos, image_size=8).train.images.clone()
    place = next(cache_folder.glob("*-*"))
    content = bytearray((place / "images.bin").read_bytes())
    if damage == "flip":
        content[100] ^= 1
        (place / "images.bin").write_bytes(content)
    elif damage == "cut":
        (place / "images.bin").write_bytes(content[:-1])
    elif damage == "about":
        (place / "about.json").write_text(json.dumps({"crc32": "nonsense"}))
    else:
        (place / "about.json").unlink()
    assert torch.equal(data.load(photos, image_size=8).train.images, before)


def test_a_build_that_is_killed_leaves_nothing_that_looks_finished(photos, cache_folder):
    slow = (
        "import os, time, metamixup.data.folder.workers as w\n"
        "w._mapped = lambda tasks: (print('building', flush=True), time.sleep(60))\n"
        f"from metamixup import data; data.load({str(photos)!r}, image_size=8)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", slow], stdout=subprocess.PIPE, env=dict(os.environ))
    assert process.stdout is not None
    assert process.stdout.readline() == b"building\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    left = list(cache_folder.glob("*-*"))
    assert [place.suffix for place in left] == [".tmp"]
    assert len(data.load(photos, image_size=8).train) == 16
    assert not list(cache_folder.glob("*.tmp"))


def test_damaged_images_stop_the_work_by_name(photos, cache_folder):
    (photos / "cat" / "3.png").write_bytes(b"broken")
    (photos / "dog" / "4.png").write_bytes(b"")
    with pytest.raises(DataError, match="2 of 20 images") as caught:
        data.load(photos, image_size=8)
    assert "cat/3.png" in str(caught.value)
    assert "dog/4.png" in str(caught.value)
    assert not list(cache_folder.glob("*-*"))


@pytest.mark.parametrize("how", ["no room", "unwritable"])
def test_without_room_for_a_cache_images_are_streamed(photos, monkeypatch, how, cache_folder):
    packed = data.load(photos, image_size=8)
    shutil.rmtree(cache_folder)
    if how == "no room":
        monkeypatch.setattr(cache.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))
    else:
        cache_folder.write_text("a file where the folder should be")
    streamed = data.load(photos, image_size=8)
    assert isinstance(streamed.train.images, StreamedImages)
    assert (streamed.mean, streamed.std) == (packed.mean, packed.std)
    batches = [
        data.Stream(found.train, torch.arange(16), 4, 0, "train", data.Augment(True, 2), found.mean, found.std).batch(3)
        for found in (packed, streamed)
    ]
    assert torch.equal(batches[0][0], batches[1][0])
    assert torch.equal(streamed.test.images[torch.tensor([1, 0])], packed.test.images[torch.tensor([1, 0])])


@pytest.mark.parametrize("size", [0, -3, 100_000])
def test_sizes_without_sense(photos, size):
    with pytest.raises(DataError, match="image size"):
        load_folder(photos, size)


def test_progress_is_told(photos):
    told = []
    load_folder(photos, 8, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (20, 20)


def test_many_files_go_through_worker_processes(tmp_path):
    write_photos(tmp_path / "p", count=50, width=8, height=8)
    assert len(data.load(tmp_path / "p").train) == 80


@pytest.mark.parametrize("layout", ["", "train"])
def test_a_folder_meta_is_never_a_class_but_the_images_that_are_vouched_for(tmp_path, layout):
    write_photos(tmp_path / layout, count=10)
    write_photos(tmp_path / "meta", ("dog",), count=3)
    found = load_folder(tmp_path)
    assert found.classes == ("cat", "dog")
    assert found.vouched_for.tolist() == [len(found.train) - 3 + k for k in range(3)]
    assert found.train.labels[found.vouched_for].tolist() == [1, 1, 1]
    assert len(found.train) == 16 + 3
    fewer = take_subset(found, 17, seed=0)
    vouched = [fewer.train.images[k] for k in fewer.vouched_for]
    assert vouched
    assert all(any(torch.equal(image, known) for known in found.train.images[-3:]) for image in vouched)


def test_a_strange_class_in_meta_is_named(tmp_path):
    write_photos(tmp_path)
    write_photos(tmp_path / "meta", ("bird",), count=1)
    with pytest.raises(DataError, match="class 'bird' is not among the training classes"):
        load_folder(tmp_path)
