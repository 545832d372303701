import pytest
import torch

from metamixup.errors import UserError
from metamixup.settings.build import build_training
from metamixup.settings.methods import METHODS
from metamixup.settings.resolve import resolve
from metamixup.settings.semi_supervised import SEMI_SUPERVISED

RESAMPLED = ("mixup+balanced",)  # another order is what it is about
SUPERVISED = [name for name in METHODS if name not in SEMI_SUPERVISED]
FEW = {"ssl__labels": 100}


def built(**given):
    return build_training(resolve({"data": "digits", **{k.replace("__", "."): v for k, v in given.items()}}))


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (SUPERVISED, {}),
        (SUPERVISED, {"meta__in_train": False, "corrupt__kind": "long-tail"}),
        (SUPERVISED, {"corrupt__kind": "replace", "corrupt__share": 0.4}),
        (list(SEMI_SUPERVISED), FEW),
        (list(SEMI_SUPERVISED), {**FEW, "ssl__meta": "extra", "meta__per_class": 3}),
    ],
    ids=["clean", "tail, held out", "wrong", "few labels", "few labels, extra meta"],
)
def test_all_methods_of_a_seed_share_split_batches_and_first_weights(names, given):
    """Whatever the meta set is for, no method has an image, a right label or a step more than another."""
    runs = {method: built(method=method, **given) for method in names}
    first = runs[names[0]]
    for method, other in runs.items():
        assert all(map(torch.equal, first.model.state_dict().values(), other.model.state_dict().values()))
        assert torch.equal(first.train.index, other.train.index)
        assert torch.equal(first.train.images.labels, other.train.images.labels)
        last = other.method.tuned_from(other.steps) - 1  # beyond it, other batches are what the method is about
        for step in () if method in RESAMPLED else (0, 1, first.steps_per_epoch + 3, last):
            for a, b in zip(first.train.batch(step), other.train.batch(step), strict=True):
                assert torch.equal(a, b)
        if first.unlabelled is not None:
            assert torch.equal(first.unlabelled.order(1), other.unlabelled.order(1))
        assert torch.equal(first.meta.index, other.meta.index)
        assert (first.wrong is None) == (other.wrong is None)
        assert first.wrong is None or torch.equal(first.wrong, other.wrong)
        assert (other.steps, other.about["images"]) == (first.steps, first.about["images"])


def test_another_seed_is_another_split_start_and_order():
    a, b = built(seed=0), built(seed=1)
    assert not torch.equal(a.train.batch(0)[2], b.train.batch(0)[2])
    assert not torch.equal(next(a.model.parameters()), next(b.model.parameters()))


def test_the_meta_set_is_trained_on_unless_it_is_held_out():
    held_out, kept = built(method="mixup", meta__in_train=False), built(method="mixup")
    assert not set(held_out.train.index.tolist()) & set(held_out.meta.index.tolist())
    assert set(kept.meta.index.tolist()) <= set(kept.train.index.tolist())
    assert len(held_out.meta.index) == 100


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"data": "digts"}, "did you mean 'digits'"),
        ({"model": "cnn4"}, "did you mean 'cnn"),
        ({"policy__name": "bta"}, "did you mean 'beta'"),
        ({"estimator__name": "exat"}, "did you mean 'exact'"),
        ({"meta__per_class": 1000}, "too few for 1000 in the meta set"),
        ({"augment__shift": 1, "augment__crop": 1}, "exclude each other"),
        ({"data": "mnist", "data_dir": "/nowhere"}, "no such folder"),
        ({"method": "mixup:reverse"}, "learns nothing"),
        ({"model": "cnn3", "augment__grow": [4, 8]}, "does not fit images of 1×4×4"),
    ],
)
def test_mistakes_are_told(given, told):
    with pytest.raises(UserError, match=told):
        built(**given)


def test_a_learned_policy_alone_needs_an_estimator():
    assert built(method="mixup").stage.estimator is None
    assert built(method="metamixup-logit").stage.estimator is not None
    assert built(method="trustmix").stage.estimator is None


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw"])
def test_every_optimizer_takes_its_settings(name):
    group = built(optimizer__name=name, optimizer__lr=0.03, optimizer__weight_decay=0.01).optimizer.param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (0.03, 0.01)


def test_a_whitening_layer_has_seen_the_training_images():
    first, again, other = (built(model="fast-s", seed=seed) for seed in (0, 0, 1))
    weights = [run.model.stages.whiten[0].weight for run in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    torch.testing.assert_close(weights[0], weights[2])  # the images alone decide, not the seed
