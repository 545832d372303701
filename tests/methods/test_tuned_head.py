import copy

import pytest
import torch
from torch import nn

from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.errors import UserError
from metamixup.methods.tuned_head import BalancedHead, TunedHead
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


def balanced_head(**given):
    tail = {"corrupt.kind": "long-tail", "corrupt.ratio": 20.0, "meta.per_class": 2}
    return tuned(method="mixup+balanced-head", subset=600, **tail, **given)


def test_labels_of_frequent_classes_are_smoothed_more():
    method, labels = BalancedHead(most=0.4, least=0.1), torch.eye(4)
    method.setup(nn.Sequential(nn.Linear(2, 4)))
    method.count(torch.tensor([100, 60, 20, 20]))
    shares = method.smoothing_by_class
    torch.testing.assert_close(shares, torch.tensor([0.4, 0.1 + 0.3 * 0.5**0.5, 0.1, 0.1]))
    # The loss as the source writes it: (1 − ε)·(−log p_y) + ε·mean(−log p).
    log_p = torch.randn(4, 4).log_softmax(1)
    expected = ((1 - shares) * -log_p.diagonal() + shares * -log_p.mean(1)).mean()
    torch.testing.assert_close(method.tuning_loss(log_p, labels), expected)


def test_classes_of_one_size_are_smoothed_as_the_rarest():
    method = BalancedHead(most=0.4, least=0.1)
    method.count(torch.tensor([50, 50]))
    assert method.smoothing_by_class.tolist() == pytest.approx([0.1, 0.1])


def test_batches_are_balanced_at_the_end_alone():
    training = balanced_head()
    since, labels = training.method.tuned_from(training.steps), training.train.images.labels

    def rarest(steps):
        shown = torch.cat([training.train.batch(step)[2] for step in steps])
        return float((labels[shown] == 9).float().mean())

    assert rarest(range(since)) < 0.04
    assert rarest(range(since, training.steps)) > 0.06


def test_only_one_of_them_needs_a_meta_set():
    with pytest.raises(UserError, match="ends on the meta images"):
        tuned(**{"meta.source": "none"})
    assert tuned(**{"method": "mixup+balanced-head", "meta.source": "none"}).meta is None


def test_learned_factors_become_part_of_the_classifier():
    training = balanced_head()
    stepper, since = Stepper(training, Runtime(1), print), training.method.tuned_from(training.steps)
    head, scale = training.method._head, training.method._scale[0]
    stepper(since - 1)
    assert torch.equal(scale, torch.ones(10))
    scaled, folded = [], training.method.after_step
    training.method.after_step = lambda model, batch: scaled.extend([scale.detach().clone(), head(ones).detach()])
    ones = torch.ones(1, head.in_features)
    stepper(since)
    assert not torch.allclose(scaled[0], torch.ones(10))
    folded(training.model, None)
    torch.testing.assert_close(head(ones), scaled[0] * scaled[1])
    assert torch.equal(scale, torch.ones(10))


@pytest.mark.parametrize("stop", [5, 38])  # before and after the classifier is left alone
def test_a_run_that_goes_on_is_the_uninterrupted_one(stop):
    whole, resumed = balanced_head(), balanced_head()
    assert (stop >= whole.method.tuned_from(whole.steps)) == (stop == 38)
    stepper = Stepper(whole, Runtime(1), print)
    for step in range(stop):
        stepper(step)
    resumed.load_state_dict(copy.deepcopy(whole.state_dict()))
    for steps in (stepper, Stepper(resumed, Runtime(1), print)):
        for step in range(stop, whole.steps):
            steps(step)
    assert all(map(torch.equal, whole.model.state_dict().values(), resumed.model.state_dict().values()))
