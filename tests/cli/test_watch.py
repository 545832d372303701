import os
import shutil
from pathlib import Path

import pytest

from metamixup.analysis.records import Records
from metamixup.cli import run
from metamixup.cli.sparkline import sparkline
from metamixup.cli.watch import state
from metamixup.engine.records.run_folder import RunFolder

CONFIG = 'data = "digits"\nmodel = "cnn3"\nmethod = "mixup"\nepochs = 5\n'
LINE = '{{"epoch": {0}, "step": {0}, "test_error": {1}, "seconds": 60, "lambda_histogram": [5, 1, 1, 5]}}\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "metrics.jsonl").write_text(LINE.format(1, 40.0) + LINE.format(2, 10.5))
    return tmp_path


def seen(folder, capsys):
    assert run(["watch", str(folder)]) == 0
    return capsys.readouterr().out


def test_a_run_of_another_process_is_followed(folder, capsys):
    with RunFolder(folder).locked():
        text = seen(folder, capsys)
    for shown in ("digits · cnn3 · mixup", "epoch 2/5", "10.5", "0:03:00 left", f"training, process {os.getpid()}"):
        assert shown in text


def test_a_run_that_stopped_says_how_to_go_on(folder, capsys):
    (folder / ".lock").write_text(f"{os.getpid()}\n")  # the number of a process that lives, but holds no lock
    assert "train --resume --out" in seen(folder, capsys)
    assert state(Records(Path("my run")))[1].endswith("--out 'my run'")


def test_numbers_that_are_none_do_not_stop_the_view(folder, capsys):
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 3, "step": 3, "test_error": NaN, "seconds": "?", "lambda_histogram": [NaN, "x"]}\n')
    assert "lowest 10.5" in seen(folder, capsys)


def test_a_finished_run_and_one_without_an_epoch(folder, capsys):
    (folder / "metrics.jsonl").unlink()
    assert "no epoch recorded yet" in seen(folder, capsys)
    (folder / "summary.json").write_text('{"test_error": 1.0}')
    assert "finished" in seen(folder, capsys)


@pytest.mark.parametrize("command", ["watch", "report"])
def test_a_folder_that_is_no_run_is_a_users_mistake(command, tmp_path, capsys):
    assert run([command, str(tmp_path)]) == 2
    assert "is no run folder: expected config.toml" in capsys.readouterr().err


def test_a_study_of_no_run_is_a_users_mistake(tmp_path, capsys):
    assert run(["study", "loss", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "is no run folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert run(["study", "loss", str(tmp_path), "--epochs", "3;4"]) == 2
    assert "expected numbers with commas" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of the two"),
        (["{}", "--recipe", "mnist-fast"], "one of the two"),
        (["{}", "--set", "epochs=1"], "belong to --recipe"),
        (["--recipe", "mnist-fats"], "did you mean 'mnist-fast'"),
        (["--recipe", "mnist-fast", "--methods", "mixup, trustmxi"], "did you mean 'trustmix'"),
        (["--recipe", "mnist-fast", "--set", "method=mixup"], "by --methods"),
        (["--recipe", "mnist-fast", "--epochs", "3"], "has no --epochs"),
    ],
)
def test_what_a_study_cannot_do_is_said_before_anything_is_trained(arguments, message, tmp_path, capsys):
    given = [text.format(tmp_path) for text in arguments]
    assert run(["study", "loss", *given, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_study_of_a_recipe_trains_what_is_not_there_yet(tmp_path, capsys):
    small = ["data=digits", "model=cnn-bn", "epochs=2", "subset=200", "augment.grow=[8]", "batch_size=50"]
    recipe = ["--recipe", "mnist-fast", "--methods", "mixup,metamixup-logit", "--out", str(tmp_path)]
    changes = [part for change in small for part in ("--set", change)]
    for name, trained in (("loss", 2), ("lambda-by-class", 0)):
        assert run(["study", name, *recipe, *changes]) == 0
        out = capsys.readouterr().out
        assert out.count("training mnist-fast-") == trained
        assert (tmp_path / f"{name}.png").exists()
    assert len((tmp_path / "runs" / "mnist-fast-mixup" / "metrics.jsonl").read_text().splitlines()) == 2


def test_sparklines():
    assert sparkline([0.0, 1.0]) == "▁█"
    assert sparkline([2.0]) == "▁"
    assert sparkline([-9.0, 0.5, 2.0**40], between=(0, 1)) == "▁▅█"  # a record may have been altered
    assert len(sparkline(list(range(1000)))) == 48
    assert sparkline([0.5, 1.0], between=(0, 1)) == "▅█"


def test_the_page_command_says_where_and_how_large(folder, capsys):
    assert run(["report", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "page.html" in out
    assert "not on the page: summary.json is missing: the run is unfinished" in out
    shutil.rmtree(folder)
