import platform

import pytest
import torch
from meta.networks import Problem, relative_error, smooth_net

from metamixup.benchmarks.peers import PEERS, installed
from metamixup.benchmarks.quality import Less, Task, decreases
from metamixup.benchmarks.run import measure
from metamixup.benchmarks.timing import interleave, ratios
from metamixup.engine.runtime import keep_memory
from metamixup.meta import Exact, learning_rates


def test_rows_take_turns_and_the_first_round_is_thrown_away():
    calls = []
    rows = {name: (lambda name=name: calls.append(name), 1) for name in ("mixup", "head")}
    seconds = interleave(rows, 2)
    assert calls == ["mixup", "head"] * 3
    assert [len(times) for times in seconds.values()] == [2, 2]


def test_ratios_are_of_the_same_repetition():
    found = ratios({"mixup": [1.0, 10.0], "head": [2.0, 20.0]}, "mixup")
    assert found["head"]["ratio"] == 2.0
    assert found["mixup"]["ratio"] == 1.0


@pytest.mark.parametrize("name", PEERS)
def test_peers_find_the_same_gradient(name):
    pytest.importorskip(name)
    problem, model = Problem(), smooth_net(norm=False)
    args = problem.loss, problem.meta_loss, problem.mixture, learning_rates(model, 0.3)
    assert relative_error(installed()[name](model, *args), Exact()(model, *args)) < 1e-9


def test_a_model_is_measured_row_by_row(monkeypatch):
    monkeypatch.setattr("metamixup.benchmarks.run.BATCHES", {"cnn3": 4})
    found = measure("cnn3", 1, lambda text: None)
    assert {"plain", "mixup", "head", "exact", "finite_difference", "default"} <= found["rows"].keys()
    assert found["rows"]["mixup"]["ratio"] == 1.0
    assert found["matmul_share"] > 0


def test_the_exact_direction_lowers_the_meta_loss_more_than_mixing_less_does():
    torch.manual_seed(0)
    task = Task()
    for _ in range(5):
        task.advance()
    rows = {name: (cosine, gain) for name, cosine, gain, _ in decreases(task, {"exact": Exact(), "less": Less()})}
    assert rows["exact"][0] > 0.999
    assert rows["exact"][1] > max(0.0, rows["less"][1])


def test_memory_is_kept_or_left_alone():
    assert keep_memory() is (platform.libc_ver()[0] == "glibc")
