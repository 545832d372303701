import importlib
import json
import os
import re

import pytest
from data.formats import write_photos

import metamixup.cli
from metamixup.cli import run
from metamixup.cli.show import histogram, mixing
from metamixup.cli.train import given_settings

TINY = ["train", "--model", "cnn-bn", "--epochs", "2", "--threads", "1", "--set", "subset=300", "--batch-size", "50"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "run"
    assert run([*TINY, "--out", str(out)]) == 0
    return out


def test_a_run_prints_lines_a_table_and_a_histogram(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run([*TINY, "--method", "mixup", "--seed", "7", "--set", "meta.in_train=false"]) == 0
    out = capsys.readouterr().out
    assert "epoch 2/2" in out
    assert "best by meta set" in out
    assert "λ in the last epoch" in out
    assert "█" in out
    assert "\x1b" not in out
    assert (tmp_path / "runs" / "digits-cnn-bn-mixup-7" / "summary.json").exists()


def test_errors_over_views_are_told_beside_the_plain_ones(tmp_path, capsys):
    assert run([*TINY, "--method", "mixup", "--set", "test_views=shift", "--out", str(tmp_path / "run")]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert f"over several views of each image: {summary['test_error_views']:.2f} %" in capsys.readouterr().out
    assert summary["test_error"] is not None


def test_a_file_flags_and_set_win_over_the_recipe(tmp_path):
    (tmp_path / "mine.toml").write_text("epochs = 2\nbatch_size = 8\n")
    given = given_settings("mnist-fast", tmp_path / "mine.toml", {"batch_size": 16, "seed": None}, ["augment.shift=1"])
    assert (given["epochs"], given["batch_size"], given["augment.shift"], given["model"]) == (2, 16, 1, "fast-s")


def test_flags_a_file_and_set_meet(tmp_path, capsys):
    config = tmp_path / "c.toml"
    config.write_text('model = "cnn-bn"\nepochs = 9\nsubset = 300\n[optimizer]\nlr = 0.3\nmomentum = 0.5\n')
    flags = ["--epochs", "1", "--set", "optimizer.momentum=0.7", "--out", str(tmp_path / "run")]
    assert run(["train", "--config", str(config), *flags]) == 0
    text = (tmp_path / "run" / "config.toml").read_text()
    assert "epochs = 1\n" in text
    assert "momentum = 0.7" in text
    assert "lr = 0.3" in text


def test_the_step_is_compiled_when_asked(tmp_path, monkeypatch):
    compiled = []

    def note(net, **options):
        compiled.append(net)
        return net

    monkeypatch.setattr("torch.compile", note)
    assert run([*TINY, "--compile", "--epochs", "1", "--out", str(tmp_path / "run")]) == 0
    assert len(compiled) == 1
    assert "compile = true" in (tmp_path / "run" / "config.toml").read_text()


def test_resume_semantics(trained, capsys):
    before = (trained / "model.safetensors").read_bytes()
    assert run([*TINY, "--out", str(trained)]) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert run(["train", "--out", str(trained), "--resume"]) == 0
    assert "finished already" in capsys.readouterr().out
    assert run(["train", "--out", str(trained), "--resume", "--epochs", "3"]) == 2
    assert "contradicts" in capsys.readouterr().err
    assert (trained / "model.safetensors").read_bytes() == before


def test_an_unfinished_run_needs_no_flags_to_go_on(trained, tmp_path, capsys):
    out = tmp_path / "copy"
    out.mkdir()
    (out / "config.toml").write_bytes((trained / "config.toml").read_bytes())
    assert run(["train", "--out", str(out), "--resume"]) == 0
    assert (out / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_an_unreadable_checkpoint_is_told(trained, tmp_path, capsys):
    out = tmp_path / "copy"
    (out / "checkpoints").mkdir(parents=True)
    (out / "config.toml").write_bytes((trained / "config.toml").read_bytes())
    for path in (trained / "checkpoints").iterdir():
        (out / "checkpoints" / path.name).write_bytes(b"rubbish")
    assert run(["train", "--out", str(out), "--resume"]) == 2
    assert "damaged" in capsys.readouterr().err


def test_a_diverging_run_names_step_rate_and_checkpoint(tmp_path, capsys):
    huge = ["--lr", "1e30", "--method", "baseline", "--out", str(tmp_path / "run")]
    assert run([*TINY, *huge]) == 1
    told = capsys.readouterr().err
    assert "step" in told
    assert "learning rate" in told
    assert "last good checkpoint" in told
    assert "Traceback" not in told
    assert not (tmp_path / "run" / "summary.json").exists()


def test_evaluate_repeats_the_summary(trained, capsys):
    assert run(["evaluate", str(trained), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    summary = json.loads((trained / "summary.json").read_text())
    assert scores == {key: summary[key] for key in scores}
    assert run(["evaluate", str(trained)]) == 0
    told = capsys.readouterr().out
    assert "test_ece" in told
    assert "test_error_top5" in told


def test_that_one_of_five_classes_is_among_the_first_five_is_not_told(tmp_path, capsys):
    write_photos(tmp_path / "photos", ("a", "b", "c", "d", "e"), count=4, width=16, height=16)
    out = str(tmp_path / "run")
    assert run(["train", "--data", str(tmp_path / "photos"), "--model", "cnn-bn", "--epochs", "1", "--out", out]) == 0
    assert run(["evaluate", out]) == 0
    assert run(["export", out]) == 0
    assert run(["report", out]) == 0
    card, page = (tmp_path / "run" / name for name in ("export/MODEL_CARD.md", "page.html"))
    told = capsys.readouterr().out + card.read_text() + page.read_text()
    assert "test_nll" in told
    assert not re.search("top.?5", told)
    assert run(["evaluate", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test_error_top5"] == 0  # records are whole


def test_the_share_of_blends_is_recorded(trained):
    lines = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert all(0 <= line["blended"] <= 1 for line in lines)
    assert json.loads((trained / "summary.json").read_text())["blended"] == [line["blended"] for line in lines]


def test_where_the_share_of_blends_was_learned_its_curve_is_shown():
    assert mixing({"blended": [0.0, 1.0, 0.5], "lambda_histogram": [1] * 20}) == [
        "pairs blended, by epoch: ▁█▅ most 1.00, last 0.50"
    ]
    assert mixing({"lambda_histogram": [1] * 20})[0].startswith("λ in the last epoch")


def test_the_histogram_adds_up():
    assert histogram([]) == []
    assert histogram([0] * 20) == []
    lines = histogram([1] * 10 + [0] * 10)
    assert len(lines) == 11
    assert lines[1].endswith("20.0 %")
    assert lines[-1].endswith("0.0 %")


@pytest.mark.parametrize(
    ("asked", "spins"), [({}, "5000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "PASSIVE"}, None)]
)
def test_waiting_threads_spin_for_a_short_while_unless_the_user_says_otherwise(monkeypatch, asked, spins):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    importlib.reload(metamixup.cli)
    assert os.environ.get("GOMP_SPINCOUNT") == spins
