import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from metamixup.engine.records.lambdas import Lambdas
from metamixup.report.tensorboard import TensorBoard, scalars


def line(epoch, step):
    lambdas = Lambdas(3)
    lambdas.add(torch.rand(64), torch.eye(3)[torch.arange(64) % 3], torch.arange(64).roll(1))
    metrics = {
        "epoch": epoch,
        "step": step,
        "lr": 0.1,
        "losses": {"supervised": 1.5},
        "test_error": 9.0,
        "meta_share": 0.2,
    }
    return metrics | lambdas.summary(), {"epoch": epoch, "step": step} | lambdas.line()


def written(folder):
    found = EventAccumulator(str(folder), size_guidance={"histograms": 0, "images": 0})
    found.Reload()
    return found


def test_scalars_histograms_and_maps_are_written(tmp_path):
    board = TensorBoard(tmp_path)
    board.started(2, 20, 0)
    for step in range(1, 41):
        board.stepped(step, 1 / step)
        if step % 20 == 0:
            board.epoch(*line(step // 20, step))
    board.stopped()
    found = written(tmp_path)
    assert {"step/loss", "loss/supervised", "error/test", "lr", "lambda_mean"} <= set(found.Tags()["scalars"])
    assert [event.step for event in found.Scalars("step/loss")] == [10, 20, 30, 40]
    assert [event.step for event in found.Histograms("λ/all pairs")] == [20, 40]
    assert found.Histograms("λ/all pairs")[0].histogram_value.num == 64
    assert len(found.Images("λ/mixing by class pair")) == 2


def test_a_resumed_run_replaces_what_it_does_again(tmp_path):
    for start, steps in ((0, range(1, 31)), (20, range(21, 31))):
        board = TensorBoard(tmp_path)
        board.started(3, 10, start)
        for step in steps:
            board.stepped(step, float(start))
        board.stopped()
    events = written(tmp_path).Scalars("step/loss")
    assert [(event.step, event.value) for event in events] == [(10, 0.0), (20, 0.0), (30, 20.0)]


def test_names_of_scalars():
    named = scalars({"epoch": 1, "step": 2, "test_nll": 0.5, "meta_share": 0.1, "losses": {"a": 1.0}, "threshold": 0.9})
    assert named == {"nll/test": 0.5, "meta_share": 0.1, "loss/a": 1.0, "threshold": 0.9}


@pytest.mark.parametrize("counts", [None, [], [0, 0]])
def test_an_empty_histogram_is_left_out(tmp_path, counts):
    board = TensorBoard(tmp_path)
    board.started(1, 1, 0)
    board.epoch({"epoch": 1, "step": 1, "lambda_histogram": counts}, {})
    board.stopped()
    assert written(tmp_path).Tags()["histograms"] == []
