"""The one writer and the one lock: nothing half-written, no link followed, no lock that outlives its holder."""

import ast
import errno
import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest

import metamixup
from metamixup.errors import UserError
from metamixup.storage import (
    InUse,
    append,
    as_json,
    check_output,
    holder,
    locked,
    make_folder,
    read_file,
    read_record,
    remove_leftovers,
    write_atomically,
    write_output,
)


def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("write", [write_atomically, append])
def test_a_full_disk_is_told_with_the_file_that_was_written(tmp_path, write):
    """A limit on the size of files fails as a full disk does: in the writing, which knows no name."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as told:
            write(tmp_path / "summary.json", bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert told.value.filename == str(tmp_path / "summary.json")


@pytest.mark.parametrize("number", [errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE, errno.EFBIG, errno.EACCES])
def test_an_output_that_cannot_be_written_is_told(tmp_path, monkeypatch, number):
    def failing(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", failing)
    for attempt in (lambda path: write_output(path, "text"), check_output):
        with pytest.raises(UserError, match="file cannot be written"):
            attempt(tmp_path / "deep" / "file")


def test_asking_whether_an_output_can_be_written_changes_nothing(tmp_path):
    (tmp_path / "file").write_text("old")
    check_output(tmp_path / "file")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old")]
    with pytest.raises(UserError, match="cannot be written"):
        check_output(tmp_path)


def test_no_link_is_followed(tmp_path):
    own, link = tmp_path / "own", tmp_path / "link"
    own.write_text("mine")
    link.symlink_to(own)
    write_atomically(link, b"theirs")
    assert (link.is_symlink(), link.read_bytes()) == (False, b"theirs")
    for name in (".lock", "log"):
        (tmp_path / name).symlink_to(own)
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / ".lock"):
        pass
    with pytest.raises(OSError, match="symbolic links"):
        append(tmp_path / "log", b"theirs")
    (tmp_path / "folder").symlink_to(tmp_path)
    with pytest.raises(UserError, match="link to another place"):
        make_folder(tmp_path / "folder")
    assert own.read_text() == "mine"


def test_only_ordinary_files_are_read(tmp_path):
    """A handed folder with a pipe for a record made `watch` and `report` wait for ever; a device fills the memory."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name, reason in (("pipe", "no ordinary file"), ("device", "no ordinary file"), (".", "Is a directory")):
        with pytest.raises(OSError, match=reason):
            read_file(tmp_path / name)
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_file(tmp_path / "file") == b"\xef\xbb\xbfa\r\nb"
    assert read_record(tmp_path / "file", "utf-8-sig") == "a\nb"


def test_no_file_is_larger_than_memory_and_no_record_than_records_are(tmp_path):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**40)
    for read in (read_record, read_file):
        with pytest.raises(OSError, match="too many to be one of"):
            read(tmp_path / "huge")


def test_a_planted_temporary_file_is_not_written_through(tmp_path):
    own, path = tmp_path / "own", tmp_path / "file"
    own.write_text("mine")
    (tmp_path / f".file.{os.getpid()}.tmp").symlink_to(own)
    write_atomically(path, b"new")
    assert (own.read_text(), path.read_bytes()) == ("mine", b"new")


def test_leftovers_of_killed_writers_are_removed(tmp_path):
    write_atomically(tmp_path / "file", b"good")
    (tmp_path / ".file.123.tmp").write_bytes(b"half")
    remove_leftovers(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_json_is_valid_whatever_is_written():
    value = {"a": float("nan"), "b": [float("inf"), 1.5], "name\udcff": "é"}

    def strange(text):
        raise AssertionError(text)

    assert json.loads(as_json(value), parse_constant=strange) == {"a": None, "b": [None, 1.5], "name\udcff": "é"}


def child(work) -> int:
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def test_a_child_does_not_keep_its_parents_lock(tmp_path):
    """A decoder that outlives a killed run held the run's lock for ever."""
    path, ready = tmp_path / "lock", tmp_path / "ready"

    def parent():
        with locked(path):
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
            ready.write_text(str(pid))
            time.sleep(60)

    pid = child(parent)
    while not (ready.exists() and ready.read_text()):
        time.sleep(0.01)
    assert holder(path) == f"process {pid}"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    try:
        with locked(path):
            assert holder(path) == f"process {os.getpid()}"
    finally:
        os.kill(int(ready.read_text()), signal.SIGKILL)
    assert holder(path) is None


def test_waiting_is_polled_said_and_can_be_given_up(tmp_path):
    heard = []

    def waiting(name):
        heard.append(name)
        if len(heard) == 2:
            raise KeyboardInterrupt

    with locked(tmp_path / "lock"):
        with pytest.raises(KeyboardInterrupt), locked(tmp_path / "lock", waiting):
            pass
        with pytest.raises(InUse, match=f"process {os.getpid()}"), locked(tmp_path / "lock"):
            pass
    assert heard == [f"process {os.getpid()}"] * 2


READING = {"read_text", "read_bytes"}
WRITING = {"write_text", "write_bytes", "savefig", "write_html", "save_file"}


def method_calls():
    """(file and text, name, arguments) of every call of a method in the package."""
    root = Path(metamixup.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and path.name != "storage.py":
                yield f"{path.relative_to(root)}: {ast.unparse(node)[:60]}", node.func.attr, node.args


def test_every_file_is_written_by_the_one_writer():
    found = []
    for text, name, arguments in method_calls():
        modes = [a.value for a in arguments if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        opens = name == "open" and any(set(mode) & set("wax+") and len(mode) < 4 for mode in modes)
        if name in WRITING or opens:
            found.append(text)
    # The cache of decoded images is too large for memory: written in place, in a folder that is renamed when complete;
    # the figure of a study is drawn into memory.
    allowed = (
        "data/folder/packed.py: (temporary / 'images.bin').open",
        "analysis/study.py: self.figure.savefig(content",
    )
    assert [text for text in found if not text.startswith(allowed)] == []


def test_every_handed_file_is_read_by_the_one_reader():
    found = [text for text, name, _ in method_calls() if name in READING]
    # Files of the package, of the kernel, and one that has just been written.
    allowed = (
        "report/page.py: files(",
        "settings/recipe.py: file.",
        "engine/records/summary.py: Path('/proc/cpuinfo')",
        "engine/runtime.py: (cgroup / name)",
        "benchmarks/memory.py: STATUS",
        "cli/reproduce.py: (out / 'table.md')",
    )
    assert [text for text in found if not text.startswith(allowed)] == []
