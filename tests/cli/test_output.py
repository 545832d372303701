import errno
import io
import os
import subprocess
import sys

import pytest

from metamixup.cli import _unless_lost, run
from metamixup.cli.output import Steady, printable


def test_control_codes_become_visible_and_letters_stay():
    assert printable("größe λ\n\x1b[31mred\x07") == "größe λ\n\\x1b[31mred\\x07"


def test_a_reader_that_is_gone_stops_nothing():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    stream = Steady(Gone())
    assert stream.write("a line") == 6
    assert stream.write("another") == 7
    stream.flush()
    assert not stream.isatty()


@pytest.mark.parametrize("end", ["| head -1", ">&-"])
def test_a_command_whose_output_is_cut_off_ends_well(end):
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m metamixup ls {end}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_an_answer_that_a_full_disk_took_is_a_failure():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "metamixup", "ls"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "error: standard output could not be written to its end (No space left on device); the rest of it is lost\n"
    )


def lost_output(monkeypatch, number: int) -> None:
    class Failing(io.StringIO):
        def flush(self):
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(sys, "stdout", Steady(Failing()))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_what_is_no_file_as_well_has_failed_with_its_output(monkeypatch, capsys, number):
    for code, arguments, ends in [(0, ["predict"], 2), (3, ["predict"], 2), (0, ["train"], 0), (75, ["train"], 75)]:
        lost_output(monkeypatch, number)
        assert _unless_lost(code, arguments) == ends
        assert os.strerror(number) in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.EPIPE, errno.EBADF])
def test_output_that_nobody_wants_is_none_that_is_lost(monkeypatch, capsys, number):
    lost_output(monkeypatch, number)
    assert _unless_lost(0, ["predict"]) == 0
    assert capsys.readouterr().err == ""


def test_a_byte_order_mark_and_a_precision_without_quotes_are_taken(tmp_path):
    from metamixup.settings.config import read_toml
    from metamixup.settings.resolve import parse_assignment, resolve

    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfepochs = 3\n")
    assert read_toml(tmp_path / "a.toml") == {"epochs": 3}
    assert resolve(dict([parse_assignment("precision=64")])).precision == "64"


def test_an_emptied_config_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").touch()
    assert run(["train", "--resume", "--out", "run"]) == 2
    assert "config.toml is empty" in capsys.readouterr().err
