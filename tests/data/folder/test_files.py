import os

import pytest
from data.formats import write_photos

from metamixup.data.folder.files import comparable, files_fingerprint, files_of, image_files, kinds_of, readable, unread
from metamixup.data.folder.tree import scan


def test_names_are_made_printable(tmp_path):
    strange = os.fsdecode(b"caf\xe9\x1b[31m\n")
    assert readable(strange) == "caf\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"
    assert readable("Füchse 狐") == "Füchse 狐"
    write_photos(tmp_path, (strange, "plain"), count=1)
    "".join(scan(tmp_path).classes).encode()


def test_the_fingerprint_changes_with_names_sizes_and_times(tmp_path):
    write_photos(tmp_path, count=1)

    def mark():
        return files_fingerprint(tmp_path, scan(tmp_path).train)

    first = mark()
    assert mark() == first
    os.utime(tmp_path / "cat" / "0.png", (1, 1))
    second = mark()
    (tmp_path / "cat" / "0.png").rename(tmp_path / "cat" / "1.png")
    third = mark()
    (tmp_path / "cat" / "1.png").write_bytes(b"longer")
    os.utime(tmp_path / "cat" / "1.png", (1, 1))
    assert len({first, second, third, mark()}) == 4


def test_image_files_of_any_folder(tmp_path):
    write_photos(tmp_path, ("a", "b/c"), count=1)
    assert [str(path.relative_to(tmp_path)) for path in image_files(tmp_path)] == ["a/0.png", "b/c/0.png"]


@pytest.mark.parametrize("suffix", [".jpg", ".JPEG", ".jpe", ".jfif", ".webp"])
def test_images_by_every_name_of_their_kind(tmp_path, suffix):
    (tmp_path / f"a{suffix}").write_bytes(b"x")
    assert [file.path.suffix for file in files_of(tmp_path, 0)] == [suffix]
    assert not unread(tmp_path)


def test_what_macos_adds_to_an_archive_is_no_photo(tmp_path):
    write_photos(tmp_path, ("a", "a/__MACOSX", "__MACOSX/a"), count=1)
    assert [file.path.relative_to(tmp_path).as_posix() for file in files_of(tmp_path, 0)] == ["a/0.png"]


def test_kinds_are_counted_the_most_frequent_first():
    assert kinds_of(["a/1", "b.HEIC", "c.heic", "d.tif"]) == "2 .heic, 1 without a suffix, 1 .tif"


def test_names_are_compared_whatever_system_wrote_them():
    assert comparable("cafe\u0301 / 1.png") == comparable("caf\xe9/1.png ")
    assert comparable("a b") != comparable("ab")
