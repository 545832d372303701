import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metamixup.cli import run
from metamixup.engine.records.run_folder import RunFolder
from metamixup.tables.records import read_records

TINY = """
title = "A small table"
[rows.baseline]
[rows.mixup]
[rows.trustmix]
controls = ["reverse", "shuffle", "replay"]
[full]
seeds = 2
[full.base]
epochs = 3
batch_size = 20
subset = 150
meta = { per_class = 2 }
augment = { shift = 0 }
[[full.columns]]
data = "digits"
model = "cnn-bn"
cost = 1
published = { baseline = 1.5, mixup = 1.25 }
[quick]
columns = [{ data = "digits", model = "cnn-bn" }]
"""


@pytest.fixture
def recipe(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    return "tiny.toml"


def numbers(out: Path) -> list[dict]:
    """A table without what the clock says."""
    clock = ("seconds", "cost_ratio")
    return [{k: v for k, v in e.items() if k not in clock} for e in json.loads((out / "table.json").read_text())]


def metamixup(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", "from metamixup.cli import main; main()", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_killed_in_the_middle_and_started_again_it_ends_with_the_same_numbers(recipe, tmp_path):
    asked = ("reproduce", recipe, "--methods", "baseline,mixup", "--jobs", "1")
    assert run([*asked, "--out", "whole"]) == 0
    killed = metamixup(*asked, "--out", "killed")
    runs = tmp_path / "killed" / "runs"
    while not list(runs.glob("*/summary.json")):
        assert killed.poll() is None
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    finished = {path: path.stat().st_mtime_ns for path in runs.glob("*/summary.json")}
    assert 1 <= len(finished) < 4
    assert run([*asked, "--out", "killed"]) == 0
    assert numbers(tmp_path / "killed") == numbers(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == before for path, before in finished.items())


def test_controls_and_replay_stand_in_the_table(recipe, tmp_path, capsys):
    assert run(["reproduce", recipe, "--seeds", "1", "--controls", "--methods", "trustmix:replay,mixup"]) == 0
    entries = numbers(tmp_path / "runs" / "tiny")
    assert [e["method"] for e in entries] == ["mixup", "trustmix:replay"]
    assert all(len(e["error"]) == 1 for e in entries)
    assert entries[0]["published"] == 1.25
    assert "# A small table" in capsys.readouterr().out
    assert (tmp_path / "runs" / "tiny" / "table.html").exists()


def test_records_are_collected_again_without_running(recipe, tmp_path, capsys):
    out = tmp_path / "runs" / "tiny"
    assert run(["reproduce", recipe, "--seeds", "1", "--methods", "mixup"]) == 0
    (record,) = read_records(out / "records.jsonl")
    assert (record["cell"], record["seed"], record["epochs"]) == ("digits/cnn-bn/mixup", 0, 3)
    (out / "records.jsonl").unlink()
    assert run(["reproduce", recipe, "--seeds", "2", "--methods", "mixup", "--collect"]) == 0
    assert read_records(out / "records.jsonl") == [record]
    assert "1 of 2 runs are finished" in capsys.readouterr().out


def test_dry_run_prints_the_grid_and_writes_nothing(recipe, tmp_path, capsys):
    assert run(["reproduce", recipe, "--dry-run", "--seeds", "3"]) == 0
    told = capsys.readouterr().out
    assert "digits/cnn-bn/mixup" in told
    assert "2 cells, 2 of them the paper's with 2 numbers; 6 runs; expected cost: 6 GPU h" in told
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.toml"]


LEARNING = {
    "metamixup": "learned · paper · exact",
    "metamixup-clip": "learned · clip · exact",
    "metamixup-logit": "learned · logit · head",
    "sigma": "learned · paper · exact",
    "trustmix": "trust · evidence",
}


@pytest.mark.parametrize("budget", ["", "cpu"])
@pytest.mark.parametrize("table", ["table1", "table2", "table3", "table4", "table5"])
def test_dry_run_tells_where_lambda_comes_from_and_published_numbers_of_letter_rows_alone(table, budget, capsys):
    if budget and table in ("table4", "table5"):
        pytest.skip("no variant for CPUs")
    assert run(["reproduce", table, "--dry-run", *(["--budget", budget] if budget else [])]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert rows
    for _, cell, policy, _, published, *_ in rows:
        row = cell.strip().rpartition("/")[2]
        form = re.split(r"[+:]|-(?=\d)", row)[0]
        assert policy.strip() == LEARNING.get(form, policy.strip() or "told")
        ours = row.startswith(("trustmix", "metamixup-logit", "metamixup-clip"))
        assert not ours or published.strip() == "–"


def test_dry_run_of_a_table_on_cpus_adds_its_cost_up(capsys):
    assert run(["reproduce", "table1", "--budget", "cpu", "--only", "mnist/*", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "13 cells; 23 runs; expected cost: 9,577 CPU s" in told
    assert run(["reproduce", "table1", "--budget", "cpu", "--only", "mnist/*", "--seeds", "1", "--dry-run"]) == 0
    assert "13 runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table1", "--budget", "tpu"], "unknown budget 'tpu'"),
        (["table1", "--budget", "cpu", "--quick"], "choose one"),
        (["table4", "--budget", "cpu"], "no variant for CPUs"),
    ],
)
def test_a_budget_that_cannot_be_is_told(arguments, message, capsys):
    assert run(["reproduce", *arguments, "--dry-run"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "counts"),
    [
        ("table1", "64 cells, 50 of them the paper's with 60 numbers"),
        ("table2", "40 numbers"),
        ("table3", "74 cells, 50 of them the paper's with 50 numbers"),
    ],
)
def test_dry_run_of_the_papers_tables_lists_every_cell(table, counts, capsys):
    assert run(["reproduce", table, "--dry-run"]) == 0
    assert counts in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tabel1"], "did you mean 'table1'"),
        (["table1", "--only", "cifra10/*"], "did you mean 'cifar10/*'"),
        (["table1", "--methods", "adamixpu"], "did you mean 'adamixup'"),
        (["table1", "--methods", "metamixup-paper"], "method 'metamixup-paper' is called 'metamixup' now"),
        (["table1", "--seeds", "0"], "seeds"),
        (["missing.toml"], "cannot be read"),
    ],
)
def test_mistakes_are_told_with_the_nearest_names(arguments, message, capsys):
    assert run(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_missing_data_is_told_before_anything_starts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("METAMIXUP_DATA", raising=False)
    code = run(["reproduce", "table1", "--quick", "--only", "digits/*", "--only", "svhn/*", "--only", "cifar1*"])
    assert code == 2
    told = capsys.readouterr().err
    for name in ("svhn", "cifar10", "cifar100"):
        assert f"{name}: its files were not found" in told
    assert not list(tmp_path.iterdir())


def test_a_second_grid_in_the_same_folder_says_who_holds_it(recipe, tmp_path, capsys):
    with RunFolder(tmp_path / "held").locked():
        assert run(["reproduce", recipe, "--out", "held"]) == 2
    assert f"in use by process {os.getpid()}" in capsys.readouterr().err


def test_a_failed_run_is_reported_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    diverging = TINY.replace("[rows.baseline]", "[rows.baseline]\nsettings = { optimizer = { lr = 1e30 } }")
    Path("tiny.toml").write_text(diverging)
    assert run(["reproduce", "tiny.toml", "--seeds", "1"]) == 1
    baseline, mixup = numbers(tmp_path / "runs" / "tiny")
    assert baseline["error"] == []
    assert len(mixup["error"]) == 1
    assert "Failed: digits/cnn-bn/baseline, seed 0: the loss became" in (tmp_path / "runs/tiny/table.md").read_text()
