import pytest

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.runs.run import begin, evaluate_run, resume
from metamixup.settings.config import read_config
from metamixup.settings.resolve import resolve

TINY = {"data": "digits", "model": "cnn-bn", "method": "mixup", "epochs": 1, "subset": 300, "threads": 1}


def files(folder):
    return {p.name: p.read_bytes() for p in folder.root.iterdir() if p.is_file() and p.name != ".lock"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "finished")
    begin(folder, resolve(TINY))
    return folder


def test_a_run_folder_has_all_its_files(finished):
    assert {"config.toml", "metrics.jsonl", "lambda.jsonl", "summary.json", "model.safetensors"} <= set(files(finished))
    assert read_config(finished.config) == resolve(TINY)
    summary = finished.read_summary()
    assert 0 <= summary["test_error"] <= 100
    assert summary["method"] == "mixup"


def test_evaluating_again_gives_the_same_scores(finished):
    summary = finished.read_summary()
    scores = evaluate_run(finished)
    assert scores == {key: summary[key] for key in scores}
    assert "test_error_top5" in scores


def test_a_folder_with_a_run_is_refused_and_not_harmed(finished):
    before = files(finished)
    with pytest.raises(UserError, match="already holds a run"):
        begin(finished, resolve(TINY))
    with pytest.raises(UserError, match="epochs = 2 contradicts"):
        resume(finished, resolve(TINY), {"epochs": 2})
    assert files(finished) == before


def test_a_finished_run_is_left_as_it_is(finished):
    before = files(finished)
    assert resume(finished, resolve(TINY), {"epochs": 1}) == finished.read_summary()
    assert files(finished) == before


def test_resuming_nothing_begins(tmp_path):
    folder = RunFolder(tmp_path / "new")
    resume(folder, resolve(TINY), TINY)
    assert folder.finished


def test_a_mistake_leaves_nothing_behind(tmp_path):
    with pytest.raises(UserError, match="too few"):
        begin(RunFolder(tmp_path / "a" / "b"), resolve({**TINY, "meta.per_class": 10_000}))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        begin(RunFolder(tmp_path / "file"), resolve(TINY))
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_is_no_run_cannot_be_evaluated(tmp_path):
    with pytest.raises(UserError, match=r"no config\.toml"):
        evaluate_run(RunFolder(tmp_path))


def test_weights_that_are_missing_or_damaged_are_told(tmp_path, finished):
    folder = RunFolder(tmp_path)
    folder.config.write_bytes(finished.config.read_bytes())
    with pytest.raises(UserError, match=f"is missing: has the run ended.*train --resume --out {folder.root}"):
        evaluate_run(folder)
    folder.model.write_bytes(finished.model.read_bytes()[:-100])
    with pytest.raises(UserError, match="does not hold"):
        evaluate_run(folder)
