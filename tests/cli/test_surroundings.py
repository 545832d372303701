"""What surrounds a command: paths that no file system takes, no home, batch systems, streams that lack λ or close."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from metamixup.audit import audit
from metamixup.audit.cross_validation import Plan
from metamixup.cli import main, run

TINY = ["--epochs", "1", "--set", "subset=100", "--threads", "1"]
PHOTOS = 8
CLASSES = ("Äpfel", "λ🙂")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Names that ASCII lacks."""
    root = tmp_path_factory.mktemp("photos")
    for k in range(PHOTOS):
        for value, name in enumerate(CLASSES):
            (root / name).mkdir(exist_ok=True)
            Image.new("RGB", (8, 8), (200 * value + k, 40, 40)).save(root / name / f"ü{k}.png")
    return root


@pytest.fixture(scope="module")
def trained(photos, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    wishes = ["--data", str(photos), "--set", "image_size=8", "--batch-size", "4", "--epochs", "1", "--threads", "1"]
    assert run(["train", *wishes, "--out", str(out)]) == 0
    return out


IMPOSSIBLE = {"name": "x" * 300, "path": "x/" * 2500, "home": "~nosuchuser/x", "null": "a\0b"}
PLACES = [
    ["train", *TINY, "--out", "{}"],
    ["train", *TINY, "--resume", "--out", "{}"],
    ["train", *TINY, "--data", "{}"],
    ["train", *TINY, "--data", "mnist", "--data-dir", "{}"],
    ["train", *TINY, "--config", "{}"],
    ["train", *TINY, "--weights", "{}"],
    ["evaluate", "{}"],
    ["watch", "{}"],
    ["report", "{}"],
    ["report", "RUN", "--out", "{}"],
    ["export", "{}"],
    ["export", "RUN", "--to", "{}"],
    ["table", "{}"],
    ["table", "RUN", "--out", "{}"],
    ["predict", "{}", "RUN"],
    ["predict", "RUN", "{}"],
    ["audit", "{}"],
    ["audit", "RUN", "--out", "{}"],
    ["study", "loss", "{}"],
    ["reproduce", "{}.toml"],
    ["data", "check", "{}"],
    ["bench", "--from", "{}"],
]


@pytest.mark.parametrize("path", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
@pytest.mark.parametrize("line", PLACES, ids=" ".join)
def test_a_path_that_cannot_be_is_told_wherever_a_path_is_given(path, line, trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run([str(trained) if word == "RUN" else word.format(path) for word in line]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert "Traceback" not in told
    assert not list(tmp_path.iterdir())


def test_a_home_that_the_shell_left_is_found(tmp_path, trained, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert run(["table", str(trained), "--out=~/tables/a.md"]) == 0
    assert (tmp_path / "home" / "tables" / "a.md").exists()
    (tmp_path / "~").mkdir()  # a folder that is called so
    assert run(["table", str(trained), "--out", "~/b.md", "--note", "~ 3 seeds"]) == 0
    assert (tmp_path / "home" / "b.md").exists()


def test_no_home_is_needed(tmp_path, monkeypatch, capsys):
    for name in ("HOME", "XDG_CACHE_HOME", "METAMIXUP_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # nor has the user one in the system's list
    assert run(["train", *TINY, "--out", str(tmp_path / "run")]) == 0
    assert run(["evaluate", str(tmp_path / "run")]) == 0


BATCH_SYSTEMS = {
    "slurm": {"SLURM_NTASKS": "4", "SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"},
    "slurm, one task": {"SLURM_NTASKS": "1", "SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "bash", "SLURM_CPUS_PER_TASK": "2"},
    "slurm, strange": {"SLURM_NTASKS": "abc", "SLURM_JOB_ID": "", "SLURM_NTASKS_PER_NODE": "2(x3)"},
    "pbs": {"PBS_JOBID": "7", "PBS_NODEFILE": "/nowhere", "NCPUS": "4"},
    "lsf": {"LSB_JOBID": "7", "LSB_DJOB_RANKFILE": "/nowhere", "JSM_NAMESPACE_SIZE": "4", "JSM_NAMESPACE_RANK": "0"},
    "mpi": {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2", "PMI_SIZE": "4"},
}


@pytest.mark.parametrize("name", BATCH_SYSTEMS)
def test_what_a_batch_system_sets_does_not_stop_a_single_process(name, tmp_path, monkeypatch):
    for key, value in BATCH_SYSTEMS[name].items():
        monkeypatch.setenv(key, value)
    assert run(["train", *TINY, "--out", str(tmp_path / "run")]) == 0


@pytest.fixture
def narrow(monkeypatch):
    """Runs a command whose standard output and error know ASCII only; gives what was printed."""

    def printed(line):
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="ascii") for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as ended:
                main(line)
            sys.stdout.flush(), sys.stderr.flush()
        told = [stream.buffer.getvalue().decode("ascii") for stream in streams.values()]
        assert ended.value.code == 0, told
        return told[0]

    return printed


def test_a_terminal_without_letters_survives_training(narrow, photos, tmp_path):
    wishes = ["--data", str(photos), "--set", "image_size=8", "--batch-size", "4", "--epochs", "1", "--threads", "1"]
    assert "test" in narrow(["train", *wishes, "--out", str(tmp_path / "größe")])
    assert (tmp_path / "größe" / "summary.json").exists()


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_terminal_without_letters_shows_predictions(narrow, trained, photos, form):
    told = narrow(["predict", str(trained), str(photos), "--format", form])
    assert "pfel" in told
    if form == "json":
        assert {row["class"] for row in json.loads(told)} <= set(CLASSES)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_terminal_without_letters_shows_an_audit(narrow, photos, form, monkeypatch):
    monkeypatch.setattr(audit, "fitting_plan", lambda found: Plan(folds=2, epochs=1, steps=2))
    told = narrow(["audit", str(photos), "--format", form])
    if form == "json":
        assert {finding["given"] for finding in json.loads(told)["findings"]} <= set(CLASSES)


@pytest.mark.parametrize("form", ["md", "html", "csv", "latex", "svg"])
def test_a_terminal_without_letters_shows_a_table(narrow, form, tmp_path):
    runs = [(method, seed) for method in ("mixup", "größer") for seed in range(3)]
    lines = [{"cell": f"Äpfel/λ/{m}", "method": m, "seed": s, "test_error": len(m) + s * s / 9} for m, s in runs]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "pfel" in narrow(["table", str(tmp_path / "records.jsonl"), "--format", form])


@pytest.mark.parametrize("line", [["watch", "RUN"], ["report", "RUN"], ["export", "RUN"], ["evaluate", "RUN"], ["ls"]])
def test_a_terminal_without_letters_shows_the_rest(narrow, trained, line):
    narrow([str(trained) if word == "RUN" else word for word in line])


def test_a_reader_that_goes_does_not_end_the_training(tmp_path):
    """In the C locale as well, and with a Python that does not mend it."""
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    train = f"{sys.executable} -m metamixup train {' '.join(TINY)} --set epochs=3 --out run"
    done = subprocess.run(
        ["bash", "-c", f"{train} | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, **bare},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 1
    assert json.loads(Path(tmp_path, "run", "summary.json").read_text())["epochs"] == 3
