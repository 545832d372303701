import os
import sys
import unicodedata

import pytest
from data.formats import write_photos

from metamixup.data.check import check_folder
from metamixup.data.folder.tree import left_out, of_no_class, scan
from metamixup.errors import DataError


def names(files, root):
    return [str(file.path.relative_to(root)) for file in files]


def test_one_level_of_classes(tmp_path):
    write_photos(tmp_path, ("dog", "cat"), count=2)
    tree = scan(tmp_path)
    assert tree.classes == ("cat", "dog")
    assert names(tree.train, tmp_path) == ["cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png"]
    assert [file.label for file in tree.train] == [0, 0, 1, 1]
    assert tree.test is None


@pytest.mark.parametrize("test", ["test", "val", "valid", "validation"])
@pytest.mark.parametrize("unlabelled", ["unlabelled", "unlabeled"])
def test_parts_of_their_own(tmp_path, test, unlabelled):
    write_photos(tmp_path / "train", count=3)
    write_photos(tmp_path / test, ("dog",), count=1)
    write_photos(tmp_path / unlabelled, ("deep/er",), count=2)
    tree = scan(tmp_path)
    assert [file.label for file in tree.test] == [1]
    assert [file.label for file in tree.unlabelled] == [-1, -1]


def test_unlabelled_images_beside_the_classes(tmp_path):
    write_photos(tmp_path, ("cat", "dog", "unlabelled"))
    tree = scan(tmp_path)
    assert tree.classes == ("cat", "dog")
    assert len(tree.unlabelled) == 5


def test_hidden_and_other_files_are_passed_over_and_capitals_are_not(tmp_path):
    write_photos(tmp_path, count=1)
    for name in (".hidden.png", "notes.txt", "photo.heic"):
        (tmp_path / "cat" / name).write_bytes(b"x")
    (tmp_path / "cat" / "BIG.JPEG").write_bytes(b"x")
    (tmp_path / ".git").mkdir()
    assert names(scan(tmp_path).train, tmp_path) == ["cat/0.png", "cat/BIG.JPEG", "dog/0.png"]


def test_links_are_followed_but_not_in_circles_nor_to_other_classes(tmp_path):
    root = tmp_path / "photos"
    write_photos(root, count=2)
    write_photos(tmp_path / "elsewhere", ("more",), count=1)
    (root / "cat" / "up").symlink_to(root)
    (root / "cat" / "self").symlink_to(root / "cat")
    (root / "cat" / "more").symlink_to(tmp_path / "elsewhere" / "more")
    found = names(scan(root).train, root)
    assert found == ["cat/0.png", "cat/1.png", "cat/more/0.png", "dog/0.png", "dog/1.png"]


@pytest.mark.parametrize("name", ["gone.png", "more photos", "gone.heic"])
def test_a_link_that_leads_nowhere_is_an_image_that_cannot_be_used(tmp_path, name):
    """Tools that keep large files elsewhere leave such links where a file, or a folder, was not fetched."""
    write_photos(tmp_path, count=4)
    gone = tmp_path / "cat" / name
    gone.symlink_to(tmp_path / "nowhere")
    assert gone in [file.path for file in scan(tmp_path).train]
    found = check_folder(tmp_path)
    assert "is not there (a link that leads nowhere" in found.damaged[gone]
    assert not found.left_out


def test_folders_may_lie_deeper_than_calls_may(tmp_path):
    deep = tmp_path / "cat" / "/".join(["d"] * 400)
    write_photos(deep, ("x",), count=1)
    write_photos(tmp_path, ("dog",), count=1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(350)
    try:
        assert len(scan(tmp_path).train) == 2
    finally:
        sys.setrecursionlimit(limit)


def test_a_link_to_itself_is_an_error_that_names_it(tmp_path):
    write_photos(tmp_path)
    (tmp_path / "cat" / "loop.png").symlink_to("loop.png")
    with pytest.raises(DataError, match="loop"):
        scan(tmp_path)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda root: write_photos(root, ("only",)), "at least two; found 1"),
        (lambda root: root.joinpath("a").mkdir(), "at least two"),
        (lambda root: (write_photos(root), (root / "empty").mkdir()), "empty: .* no images .* remove the folder"),
        (
            lambda root: (write_photos(root), (root / "e").mkdir(), (root / "f").mkdir()),
            "e and 1 more: this class has no images",
        ),
        (lambda root: (write_photos(root / "train"), write_photos(root / "test", ("cow",))), "'cow' is not among"),
        (lambda root: (write_photos(root / "train"), (root / "test").mkdir()), "no images .* unlabelled/"),
    ],
)
def test_folders_that_make_no_sense(tmp_path, make, told):
    make(tmp_path)
    with pytest.raises(DataError, match=told):
        scan(tmp_path)


def test_classes_that_cannot_be_told_apart_by_their_names_are_refused(tmp_path):
    for name in (b"a", b"x\xfe", b"x\xff"):
        folder = tmp_path / os.fsdecode(name)
        folder.mkdir()
        (folder / "1.png").write_bytes(b"x")
    with pytest.raises(
        DataError, match="2 class folders are called 'x\N{REPLACEMENT CHARACTER}' as far as can be shown"
    ):
        scan(tmp_path)


def test_classes_whose_names_are_written_in_two_ways_are_one_class(tmp_path):
    """é is one character, or an e and an accent, by the system that wrote the name."""
    one, two = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    write_photos(tmp_path / "train", (one, "dog"))
    write_photos(tmp_path / "test", (two, " dog "))
    write_photos(tmp_path / "meta", (two,))
    tree = scan(tmp_path)
    assert [len(part) for part in (tree.train, tree.test, tree.meta)] == [10, 10, 5]
    assert {file.label for file in tree.meta} == {tree.classes.index(one)}
    write_photos(tmp_path / "train", (two,))
    with pytest.raises(DataError, match=r"2 class folders are called 'cafe?.'"):
        scan(tmp_path)


def test_files_that_are_not_read_are_named(tmp_path):
    write_photos(tmp_path, count=1)
    (tmp_path / "cat" / "0.png").rename(tmp_path / "cat" / "IMG.HEIC")
    with pytest.raises(DataError, match=r"no images \(.*it has cat/IMG\.HEIC: save such photos as JPEG"):
        scan(tmp_path)
    for name in ("cat/photo.jxl", "dog/none", "dog/Thumbs.db", "dog/.hidden", "labels.csv"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "config.toml").touch()
    assert left_out(tmp_path) == ["cat/IMG.HEIC", "cat/photo.jxl", "dog/none"]
    assert left_out(tmp_path / "nowhere") == []


def test_images_of_no_class_are_named(tmp_path):
    write_photos(tmp_path, count=1)
    assert of_no_class(scan(tmp_path)) == []
    write_photos(tmp_path, ("runs/one", "meta/cat", "unlabelled"), count=1)
    (tmp_path / "runs" / "one" / "config.toml").touch()
    (tmp_path / "meta" / "loose.png").write_bytes(b"x")
    (tmp_path / "loose.png").write_bytes(b"x")
    assert of_no_class(scan(tmp_path)) == ["loose.png", "meta/loose.png"]


def test_so_are_those_of_folders_beside_the_parts_but_not_the_ones_that_parts_link_to(tmp_path):
    root = tmp_path / "photos"
    write_photos(root, ("train/cat", "train/dog", "test/cat", "val/cat", "all"), count=1)
    (root / "train" / "cat" / "1.png").symlink_to(root / "all" / "0.png")
    assert of_no_class(scan(root)) == ["val/cat/0.png"]
