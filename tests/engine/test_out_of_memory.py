import pytest
import torch
from engine.toy_runs import run, toy_training

from metamixup.errors import UserError
from metamixup.meta import Exact, FiniteDifference, Head, MetaStage
from metamixup.policy import Learned
from metamixup.trust import Trust

HUGE = 2**50


class Hungry(Exact):
    def __call__(self, *given):
        return torch.empty(HUGE)


def test_the_cheaper_estimator_is_named(tmp_path):
    training = toy_training()
    training.stage = MetaStage(Learned(), Hungry())
    with pytest.raises(UserError, match=r"out of memory in the meta stage; estimator 'head'.*--estimator head"):
        run(training, tmp_path)


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (MetaStage(Learned(), FiniteDifference()), "--estimator head"),
        (MetaStage(Learned(), Head()), "--estimator head-features"),
        (MetaStage(Learned(), Head(blend="features")), "estimator.fraction=0.5"),
        (Trust(), "--batch-size"),
    ],
)
@pytest.mark.parametrize("kind", [MemoryError, torch.OutOfMemoryError])
def test_every_estimator_has_a_way_out(tmp_path, monkeypatch, stage, told, kind):
    def hungry(*given):
        raise kind("out of memory")

    if stage.estimator is None:
        monkeypatch.setattr(stage, "evidence", hungry)
    else:
        monkeypatch.setattr(type(stage.estimator), "__call__", hungry)
    training = toy_training()
    training.stage = stage
    with pytest.raises(UserError, match=told):
        run(training, tmp_path)


def test_other_errors_are_left_alone(tmp_path, monkeypatch):
    def broken(*given):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(Exact, "__call__", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        run(toy_training(), tmp_path)
