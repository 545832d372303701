import pytest
import torch

from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.methods.tuned_head import TunedHead
from metamixup.settings.build import build_training
from metamixup.settings.resolve import resolve


def tuned(**given):
    small = {"model": "cnn-bn", "data": "digits", "subset": 300, "meta.per_class": 5, "epochs": 10}
    return build_training(resolve({"method": "mixup+tuned-head", **small, **given}))


@pytest.mark.parametrize("steps", [1, 7, 190, 195, 196, 1000])
def test_batches_rate_and_layers_change_in_the_same_step(steps):
    method = TunedHead()
    told = [method.tunes(step / steps) for step in range(steps)]
    assert told == [step >= method.tuned_from(steps) for step in range(steps)]


def test_the_classifier_is_tuned_at_a_rate_that_can_move_it():
    training = tuned()
    since = training.method.tuned_from(training.steps)
    assert training.train.since == since
    assert training.schedule.factor(since - 1) < 0.01
    assert training.schedule.factor(since) == 1.0


def test_at_the_end_the_classifier_alone_moves_on_meta_images():
    training = tuned()
    stepper, since = Stepper(training, Runtime(1), print), round(0.9 * training.steps)
    assert set(training.train.batch(since)[2].tolist()) <= set(training.meta.index.tolist())
    assert not set(training.train.batch(since - 1)[2].tolist()) <= set(training.meta.index.tolist())
    stepper(since - 1)
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    done = stepper(since)
    assert bool((done.mixture.lam == 1).all())
    moved = {name for name, value in training.model.state_dict().items() if not torch.equal(value, before[name])}
    assert {name.rpartition(".")[2] for name in moved} == {"weight", "bias"}
    assert len({name.rpartition(".")[0] for name in moved}) == 1
