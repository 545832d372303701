"""Lines of records.jsonl: what a run came to and what its policy did."""

import json

import pytest
import torch

from metamixup.engine.records.lambdas import Lambdas
from metamixup.engine.records.run_folder import RunFolder, append_line
from metamixup.errors import UserError
from metamixup.tables.cells import Cell, Run
from metamixup.tables.records import MOST_EPOCHS, read_records, run_record, thinned, write_records

GIVEN = {"corrupt.kind": "replace", "corrupt.share": 0.4, "meta.in_train": True}
SUMMARY = {
    **{"test_error": 12.5, "selection_error": 13.0, "selection_nll": 0.5, "test_nll": 0.4, "test_ece": 3.0},
    **{"epochs": 2, "steps": 20, "device": "cpu", "train_seconds": 9.0, "cpu_seconds": 4.0},
    "images": {"train": 400, "meta": 100},
}


def run(folder, row="trustmix", score="test_error", control="") -> Run:
    given = {**GIVEN, "method": row.partition("-")[0]}
    cell = Cell("digits-replace40", "cnn3", row, "Ours", given, None, 1.0, score=score, control=control)
    return Run(cell, 3, folder)


def write_run(folder, lam=(0.5, 1.0, 0.5, 0.5)):
    """Two epochs; classes 0 0 1 1, each with the next image."""
    folder.mkdir()
    for epoch in (1, 2):
        lambdas = Lambdas(2)
        lambdas.add(torch.tensor(lam), torch.eye(2)[[0, 0, 1, 1]], torch.tensor([1, 2, 3, 0]))
        line = {"epoch": epoch, "wrong_weight": 0.3 / epoch, "blended": 0.5, "trust_auroc": 0.4 + epoch / 4}
        append_line(RunFolder(folder).metrics, line)
        append_line(RunFolder(folder).lambdas, {"epoch": epoch, **lambdas.line()})


def test_scores_and_what_the_policy_did(tmp_path):
    write_run(tmp_path / "run")
    record = run_record(run(tmp_path / "run"), SUMMARY)
    assert record["cell"] == "digits-replace40/cnn3/trustmix"
    assert (record["task"], record["method"], record["seed"]) == ("digits-replace40", "trustmix", 3)
    assert (record["test_error"], record["selection_error"], record["updates"]) == (12.5, 13.0, 20)
    assert record["wrong_share"] == 0.3  # 40 % of the 300 that are no meta images
    assert record["wrong_weight"] == [[1, 0.3], [2, 0.15]]
    assert record["blended"] == [[1, 0.5], [2, 0.5]]
    assert record["trust_auroc"] == [[1, 0.65], [2, 0.9]]
    assert record["mixing_same"] == [[1, 1.0], [2, 1.0]]
    assert record["mixing_other"] == [[1, 0.5], [2, 0.5]]  # the one with λ = 1 and the one with λ = ½
    assert record["mixing_pairs"] == [[1.0, 0.0], [1.0, 1.0]]


def test_controls_have_no_table_of_class_pairs_and_rivals_no_policy(tmp_path):
    write_run(tmp_path / "run")
    assert "mixing_pairs" not in run_record(run(tmp_path / "run", control="reverse"), SUMMARY)
    plain = run_record(run(tmp_path / "run", "mixup"), SUMMARY)
    assert not {"wrong_weight", "mixing_same"} & set(plain)


def test_a_folder_that_tells_nothing_or_is_damaged(tmp_path):
    nothing = run_record(run(tmp_path / "none"), SUMMARY)
    assert nothing["test_error"] == 12.5
    assert "wrong_weight" not in nothing
    (tmp_path / "run").mkdir()
    RunFolder(tmp_path / "run").lambdas.write_text('{"epoch": 1, "groups": 2, "count": "?", "mixing": "x"}\nhalf')
    assert "mixing_same" not in run_record(run(tmp_path / "run"), SUMMARY)


def test_lines_that_tell_something_else_are_left_out(tmp_path):
    write_run(tmp_path / "run")
    folder, other = RunFolder(tmp_path / "run"), Lambdas(3)
    other.add(torch.tensor([0.5]), torch.eye(3)[[0]], torch.tensor([0]))
    lines = folder.lambdas.read_text()
    folder.lambdas.write_text(json.dumps({"epoch": 0, **other.line()}) + "\n" + lines)
    for line in ({"epoch": 3, "wrong_weight": "x"}, {"wrong_weight": 0.5}):
        append_line(folder.metrics, line)
    record = run_record(run(tmp_path / "run"), SUMMARY)
    assert record["mixing_same"] == [[1, 1.0], [2, 1.0]]
    assert record["wrong_weight"] == [[1, 0.3], [2, 0.15]]
    assert record["blended"] == [[1, 0.5], [2, 0.5]]


def test_the_score_that_counts_is_there_too(tmp_path):
    record = run_record(run(tmp_path, score="test_error_median"), {**SUMMARY, "test_error_median": 11.0})
    assert record["test_error_median"] == 11.0


def test_long_runs_are_told_by_few_epochs():
    kept = thinned([(epoch, epoch / 7) for epoch in range(1, 601)])
    assert len(kept) == MOST_EPOCHS
    assert (kept[0][0], kept[-1]) == (1, [600, round(600 / 7, 4)])
    assert thinned([(1, None)]) == [[1, None]]


def test_lines_of_other_tasks_stay_and_those_of_the_plan_are_written_anew(tmp_path):
    path = tmp_path / "records.jsonl"
    write_records(path, [{"cell": "a", "seed": 0, "test_error": 1}, {"cell": "a", "seed": 1}], [("a", 0), ("a", 1)])
    write_records(path, [{"cell": "b", "seed": 0}], [("b", 0), ("b", 1)])
    write_records(path, [{"cell": "a", "seed": 0, "test_error": 2}], [("a", 0), ("a", 1)])
    assert read_records(path) == [{"cell": "a", "seed": 0, "test_error": 2}, {"cell": "b", "seed": 0}]


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"cell": "a"}), json.dumps({"cell": 1, "seed": 0})])
def test_what_is_no_record_is_refused(tmp_path, text):
    path = tmp_path / "records.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match=r"no records\.jsonl"):
        read_records(path)


def test_class_pairs_are_of_the_whole_run_since_a_settled_policy_ends_unmixed(tmp_path):
    (tmp_path / "run").mkdir()
    for epoch, lam in ((1, 0.5), (2, 1.0)):
        lambdas = Lambdas(2)
        lambdas.add(torch.full((2,), lam), torch.eye(2)[[0, 1]], torch.tensor([0, 0]))
        append_line(RunFolder(tmp_path / "run").lambdas, {"epoch": epoch, **lambdas.line()})
    assert run_record(run(tmp_path / "run"), SUMMARY)["mixing_pairs"] == [[0.5, None], [0.5, None]]
