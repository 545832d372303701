import torch

from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.settings.build import build_training
from metamixup.settings.resolve import resolve


def test_at_the_end_the_classifier_alone_moves_on_meta_images():
    given = {"method": "mixup+tuned-head", "model": "cnn-bn", "data": "digits", "subset": 300, "meta.per_class": 5}
    training = build_training(resolve({**given, "epochs": 10, "optimizer.schedule": "constant"}))
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
