import json
import subprocess
import sys

import pytest

from metamixup.engine.records.run_folder import RunFolder, append_line, cut_back, read_lines
from metamixup.errors import UserError
from metamixup.storage import InUse


def test_a_second_process_is_refused_and_told_by_whom(tmp_path):
    folder = RunFolder(tmp_path / "run")
    holder = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.flock(f, fcntl.LOCK_EX); "
    holder += "print('held', flush=True); input()"
    with folder.locked():
        pass
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(folder.root / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(InUse, match="in use by process"), folder.locked():
            pass
        other.kill()  # the lock goes with its process
        other.wait()
    with folder.locked():
        pass


def test_a_folder_that_cannot_be_made_is_a_users_mistake(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another --out"), RunFolder(tmp_path / "file" / "run").locked():
        pass


def test_half_a_line_is_not_a_record(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in (4, 8, 12):
        append_line(path, {"step": step, "λ": 0.5})
    with path.open("a") as file:
        file.write('{"step": 16, "er')
    assert [line["step"] for line in read_lines(path)] == [4, 8, 12]


def test_records_are_cut_back_to_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 4}\n[1]\n{"no step": 1}\n{"step": 8}\n{"step": 12}\n{"st')
    assert cut_back(path, 8) == [{"step": 4}, {"step": 8}]
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"step": 4}, {"step": 8}]
    assert cut_back(tmp_path / "none", 8) == []
    assert not (tmp_path / "none").exists()


def test_an_empty_folder_holds_no_run(tmp_path):
    folder = RunFolder(tmp_path)
    assert not folder.holds_run
    assert not folder.finished
    folder.write_summary({"test_error": 1.5})
    assert folder.holds_run
    assert folder.finished
    assert folder.read_summary() == {"test_error": 1.5}
