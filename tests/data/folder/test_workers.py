import os
import signal
import time
from pathlib import Path

import pytest
from data.formats import encoded, picture

from metamixup.data.folder import workers
from metamixup.data.folder.decode import decode
from metamixup.data.folder.workers import PER_TASK, _begin_worker, decode_all
from metamixup.errors import DataError

SHAPE = (3, 4, 4)


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{k}.png" for k in range(PER_TASK + 5)]
    for k, path in enumerate(paths):
        path.write_bytes(encoded(picture(6, 5, seed=k)))
    return paths


def test_every_image_is_written_at_its_place(files, tmp_path):
    files[3].write_bytes(b"broken")
    told = []
    with (tmp_path / "target").open("wb+") as target:
        found = decode_all(files, SHAPE, target.fileno(), lambda *so_far: told.append(so_far))
    content = (tmp_path / "target").read_bytes()
    assert [image.path for image in found] == files
    assert [bool(image.problem) for image in found] == [k == 3 for k in range(len(files))]
    for k in (0, 5, PER_TASK + 4):
        assert content[48 * k : 48 * (k + 1)] == decode(files[k], 4, 3).tobytes()
    assert told == [(PER_TASK, PER_TASK + 5), (PER_TASK + 5, PER_TASK + 5)]


def test_equal_pixels_have_equal_digests(files):
    files[1].write_bytes(files[0].read_bytes())
    found = decode_all(files, SHAPE)
    assert found[0].digest == found[1].digest
    assert len({image.digest for image in found}) == len(files) - 1


def test_a_parent_that_answers_signals_does_not_keep_its_workers_alive(files):
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        assert len(decode_all(files, SHAPE)) == len(files)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_worker_that_dies_is_told(files, monkeypatch):
    monkeypatch.setattr(workers, "decode", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(DataError, match="killed"):
        decode_all(files, SHAPE)


def test_a_worker_ends_with_its_parent(tmp_path):
    """Killed with -9, a run left its decoders behind."""
    note = tmp_path / "note"
    parent = os.fork()
    if parent == 0:
        worker = os.fork()
        if worker == 0:
            _begin_worker()
            time.sleep(60)
            os._exit(0)
        note.write_text(str(worker))
        time.sleep(60)
        os._exit(0)
    while not (note.exists() and note.read_text()):
        time.sleep(0.01)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    worker = Path("/proc") / note.read_text() / "stat"
    for _ in range(500):
        if not worker.exists() or worker.read_text().split()[2] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the worker lives on")
