"""Fast networks with everything that their recipes use, with every kind of method and estimator."""

import pytest
from toy_runs import assert_a_kill_changes_nothing

from metamixup.engine.records.run_folder import RunFolder
from metamixup.runs.export import export_run
from metamixup.runs.run import begin, evaluate_run
from metamixup.settings.resolve import resolve

FAST = {
    **{"data": "digits", "model": "fast-s", "method": "baseline", "epochs": 2, "batch_size": 32, "subset": 160},
    **{"threads": 1, "label_smoothing": 0.2, "test_views": "flip+shift", "meta.per_class": 3, "evaluate_every": 2},
    **{"optimizer.lr": 0.1, "optimizer.nesterov": True, "optimizer.momentum": 0.85, "optimizer.norm_bias": 64.0},
    **{"optimizer.schedule": "triangular", "optimizer.lookahead": 3},
    **{"augment.flip": True, "augment.alternate": True, "augment.shift": 1, "augment.grow": [6, 8]},
}
METHODS = {
    "cutmix": {},
    "manifold": {},
    "adamixup": {},
    "trustmix": {},
    "trustmix:shuffle": {},
    "metamixup-logit": {"estimator.name": "finite_difference"},
    "metamixup": {"epochs": 1},
    "reweight": {},
    "meta-weight-net": {},
    "mixmatch": {"ssl.labels": 30},
    "vat": {"ssl.labels": 30},
}


@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_method_trains(tmp_path, method):
    summary = begin(RunFolder(tmp_path / "run"), resolve({**FAST, "method": method, **METHODS[method]}))
    assert 0 <= summary["test_error_views"] <= 100


@pytest.mark.parametrize("method", ["baseline", "metamixup-logit", "meta-weight-net"])
def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path, method):
    assert_a_kill_changes_nothing(resolve({**FAST, "method": method}), 6, tmp_path)


def test_a_finished_run_can_be_evaluated_and_exported(tmp_path):
    folder = RunFolder(tmp_path / "run")
    summary = begin(folder, resolve(FAST))
    scores = evaluate_run(folder)
    assert scores == {key: summary[key] for key in scores}
    assert scores["test_error_views"] == summary["test_error_views"]
    for form in ("safetensors", "pt2"):
        assert export_run(folder, form).difference <= 1e-5
