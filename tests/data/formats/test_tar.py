import io
import tarfile

import pytest
from data.formats import tar_bytes
from data.hostile import damaged, data_or_error, fuzzed
from hypothesis import given
from hypothesis import strategies as st

from metamixup.data.formats.tar import read_members
from metamixup.errors import DataError

WANTED = frozenset({"a.bin", "b.bin"})
FILES = {"folder/a.bin": b"first" * 300, "readme": b"text", "folder/b.bin": b"second"}


def members(path):
    return {name: content.tobytes() for name, content in read_members(path, WANTED)}


@pytest.mark.parametrize("packed", [True, False])
def test_wanted_files_are_read(tmp_path, packed):
    path = tmp_path / "archive"
    path.write_bytes(tar_bytes(FILES, packed))
    assert members(path) == {"a.bin": b"first" * 300, "b.bin": b"second"}


def test_entries_that_climb_out_and_links_write_nothing(tmp_path):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, kind in (("../../a.bin", tarfile.REGTYPE), ("/b.bin", tarfile.SYMTYPE), ("b.bin", tarfile.CHRTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    folder = tmp_path / "in" / "here"
    folder.mkdir(parents=True)
    (folder / "archive").write_bytes(target.getvalue())
    assert members(folder / "archive") == {"a.bin": b""}
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["archive"]


def test_a_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(tar_bytes({"padding": bytes(2**26), "a.bin": b"x"}))
    with pytest.raises(DataError, match=r"bomb\.tar\.gz: promises"):
        members(path)


def test_a_truncated_member(tmp_path):
    path = tmp_path / "archive"
    path.write_bytes(tar_bytes(FILES, packed=False)[: 512 + 700])
    with pytest.raises(DataError, match="truncated"):
        members(path)


@fuzzed
@given(content=st.one_of(st.binary(max_size=1100), damaged(tar_bytes(FILES, False)), damaged(tar_bytes(FILES, True))))
def test_any_bytes_give_files_or_an_error(tmp_path, content):
    data_or_error(members, tmp_path / "fuzzed", content)
