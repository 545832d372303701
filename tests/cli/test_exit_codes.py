"""A user's mistake: code 2, one or two lines on standard error, no traceback, nothing written."""

import errno
import os

import pytest

from metamixup import __version__
from metamixup.cli import run

MISTAKES = {
    "train --method metamix": "unknown method 'metamix'; did you mean 'metamixup'?",
    "train --method trustmix:revers": "did you mean 'trustmix:reverse'?",
    "train --method metamixup-one-step": "is called 'metamixup-logit' now",
    "train --method metamixup-paper": "is called 'metamixup' now",
    "train --model cnn33": "unknown model 'cnn33'; did you mean 'cnn3'?",
    "train --data digit": "unknown data set 'digit'; did you mean 'digits'?",
    "train --data photo": "no folder or file of that name here",
    "train --policy betta": "did you mean 'beta'?",
    "train --estimator heat": "did you mean 'head'?",
    "train --projection paper": "policy.projection does not apply to policy 'trust'",
    "train --method metamixup --projection papr": "projection is one of paper, clip, logit",
    "train --estimator exact": "this policy learns from estimator 'evidence'",
    "train --set epoch=3": "did you mean 'epochs'?",
    "train --set epochs": "expected key=value",
    "train --epochs 0": "epochs = 0",
    "train --epochs three": "--epochs",
    "train --lr nan": "optimizer.lr = nan",
    "train --batch-size -1": "batch_size = -1",
    "train --set meta.per_class=500": "too few for 500 in the meta set",
    "train --data mnist --data-dir nowhere": "no such folder",
    "train --config nowhere.toml": "no such file",
    "train --epoch 3": "--epochs",
    "train --set optimizer.nesterov=true --set optimizer.momentum=0": "nesterov needs a momentum above 0",
    "train --set optimizer.lr=1e308": "optimizer.lr = 1e+308",
    "train --set policy.alpha=1e308": "alpha = 1e+308 is beyond all use",
    "train --threads 10000": "threads = 10000",
    "train --nodes 2": "--nodes 2 needs MASTER_ADDR, MASTER_PORT, NODE_RANK",
    "train --out ~nosuchuser/x": "no HOME, or no such user",
    "train --data evil\x1b[31m": "evil\\x1b[31m",
    "evaluate .": "no config.toml",
    "ls method": "did you mean 'methods'?",
    "trian": "trian",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    assert run(line.split()) == 2
    captured = capsys.readouterr()
    assert MISTAKES[line] in captured.err
    assert "\x1b" not in captured.err
    assert captured.err.startswith("error: ")
    assert len(captured.err.strip().splitlines()) <= 2
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--out", "--data", "--meta", "--labels", "--data-dir", "--weights"])
def test_an_empty_value_is_not_the_current_folder(tmp_path, monkeypatch, capsys, option):
    monkeypatch.chdir(tmp_path)
    for given in ([option, ""], [option, " "], [f"{option}="]):
        assert run(["train", *given, "--epochs", "1"]) == 2
        assert f"{option} is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line", [["predict", "", "x.png"], ["predict", "run", ""], ["predict", "run", "--", ""], ["evaluate", ""]]
)
def test_an_empty_argument_is_not_the_current_folder(capsys, line):
    assert run(line) == 2
    assert "an argument is empty" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["data", "meta.source", "labels"])
def test_an_empty_setting_is_not_the_current_folder(tmp_path, capsys, key):
    (tmp_path / "c.toml").write_text(f'{key} = ""')
    for given in (["--config", str(tmp_path / "c.toml")], ["--set", f"{key}="]):
        assert run(["train", *given]) == 2
        assert f"{key} is empty" in capsys.readouterr().err


def test_a_config_file_that_is_not_toml(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text("epochs: 3")
    assert run(["train", "--config", "c.toml"]) == 2
    assert "c.toml is not TOML" in capsys.readouterr().err
    (tmp_path / "c.toml").write_text("[policy]\nstep_sise = 3")
    assert run(["train", "--config", "c.toml"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: c.toml: ")
    assert "did you mean 'policy.step_size'?" in told


def test_truncated_and_foreign_data_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in (
        "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte",
        "t10k-images-idx3-ubyte",
        "t10k-labels-idx1-ubyte",
    ):
        (tmp_path / name).write_bytes(b"\x00\x00\x08\x03\x00\x00\x00\x05")
    assert run(["train", "--data", "mnist", "--data-dir", "."]) == 2
    captured = capsys.readouterr()
    assert "idx" in captured.err
    assert "Traceback" not in captured.err


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"metamixup {__version__}\n"
    assert run(["--help"]) == 0
    assert run(["train", "--help"]) == 0
    assert "--resume" in capsys.readouterr().out


def test_lists(capsys):
    assert run(["ls"]) == 0
    everything = capsys.readouterr().out
    for name in ("trustmix", "metamixup", "cnn3", "digits", "wrn-28-10"):
        assert name in everything
    assert run(["ls", "data"]) == 0
    assert "digits" in capsys.readouterr().out


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE, errno.EFBIG])
def test_a_disk_that_fails_is_told(tmp_path, monkeypatch, capsys, number):
    """Wherever a run writes: here its first file, then each of the later ones."""
    given, code = ["train", "--epochs", "1", "--set", "subset=200", "--threads", "1"], 2
    for written in (0, 1, 3):
        count, fsync = [0], os.fsync

        def failing(descriptor, count=count, fsync=fsync, written=written):
            count[0] += 1
            if count[0] > 2 * written:
                raise OSError(number, os.strerror(number))
            fsync(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing)
            assert run([*given, "--out", str(tmp_path / str(written))]) == code
        told = capsys.readouterr().err
        assert f": {os.strerror(number)}" in told
        assert f"error: {tmp_path / str(written)}/" in told
        assert "Traceback" not in told


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "WORLD_SIZE"])
def test_a_launcher_that_tells_no_number(monkeypatch, capsys, name):
    monkeypatch.setenv(name, "abc")
    assert run(["train", "--epochs", "1"]) == 2
    assert f"{name}='abc'" in capsys.readouterr().err


def test_what_a_batch_system_sets_does_not_stop_a_single_process(monkeypatch, tmp_path):
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert run(["train", "--epochs", "1", "--set", "subset=200", "--threads", "1", "--out", str(tmp_path / "run")]) == 0


def test_memory_that_does_not_suffice_is_told(monkeypatch, capsys, tmp_path):
    """As torch says it, wherever it is asked for."""

    def starved(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr("metamixup.runs.run.build_training", starved)
    assert run(["train", "--epochs", "1", "--out", str(tmp_path / "run")]) == 2
    assert "memory does not suffice" in capsys.readouterr().err
