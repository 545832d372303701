import numpy as np
import pytest
from data.formats import write_photos

from metamixup.data.glance import Glance
from metamixup.settings.build import build_training
from metamixup.settings.defaults import photo_defaults
from metamixup.settings.dotted import flat
from metamixup.settings.methods import METHODS
from metamixup.settings.resolve import resolve
from metamixup.trust import Trust

LEARNING = ("model", "epochs", "batch_size", "augment", "optimizer")


@pytest.fixture
def own_images(tmp_path):
    np.savez(tmp_path / "own.npz", x=np.zeros((50, 32, 32, 3), np.uint8), y=np.arange(50) % 2)
    return str(tmp_path / "own.npz")


def test_no_method_changes_how_own_images_are_learned(own_images):
    found = [flat(resolve({"data": own_images, "method": name}).model_dump()) for name in METHODS]
    chosen = [{key: value for key, value in some.items() if key.startswith(LEARNING)} for some in found]
    assert all(some == chosen[0] for some in chosen)
    assert chosen[0]["model"] == "photo-resnet8"


def test_what_the_user_says_wins(own_images):
    found = resolve({"data": own_images, "model": "cnn-bn", "epochs": 3, "augment.shift": 0})
    assert (found.model, found.epochs, found.augment.shift) == ("cnn-bn", 3, 0)


def test_fewer_images_are_seen_more_often_in_smaller_batches():
    sizes = (10, 50, 500, 5000, 50_000, 10**6)
    found = [photo_defaults(Glance(images, 2, (3, 64, 64)), images) for images in sizes]
    assert [f["epochs"] for f in found] == [200, 170, 54, 17, 10, 10]
    assert [f["batch_size"] for f in found] == [16, 16, 32, 64, 128, 128]
    assert found[0]["augment.shift"] == 8
    assert photo_defaults(Glance(50, 2, (1, 8, 8)), 50)["augment.crop"] == 1


def test_a_subset_counts_as_what_is_trained_on(own_images):
    assert resolve({"data": own_images, "subset": 10}).epochs > resolve({"data": own_images}).epochs


def test_who_asks_for_a_crop_gets_no_shift_besides(own_images):
    found = resolve({"data": own_images, "augment.crop": 3}).augment
    assert (found.crop, found.shift) == (3, 0)


@pytest.mark.parametrize("data", ["cifar10", "cifar100", "svhn"])
def test_photos_with_a_name_are_learned_like_own_ones_unless_a_model_is_named(data):
    assert (resolve({"data": data}).model, resolve({"data": data}).epochs) == ("photo-resnet8", 10)
    named = resolve({"data": data, "model": "preact-resnet18"})
    assert (named.epochs, named.optimizer.nesterov, named.augment.shift) == (30, False, 0)


def test_a_meta_batch_has_the_size_that_the_policy_names():
    assert resolve({"batch_size": 64}).meta.batch_size == Trust.meta_batch(64) == 64 * Trust.meta_share
    assert resolve({"batch_size": 4}).meta.batch_size == 2, "one image alone cannot be judged by another"
    assert resolve({"method": "metamixup"}).meta.batch_size is None, "the run's own"


def test_cnn3_warms_up_at_a_low_rate_on_photos(own_images):
    for data in (own_images, "cifar10", "imagenet"):
        found = resolve({"data": data, "model": "cnn3"}).optimizer
        assert (found.lr, found.warmup_epochs) == (0.02, 1.0)


@pytest.mark.parametrize("given", [{"optimizer.name": "adamw"}, {"optimizer.momentum": 0.0}])
def test_another_optimizer_gets_no_settings_that_it_cannot_take(own_images, given):
    found = resolve({"data": own_images, **given}).optimizer
    assert not found.nesterov
    assert found.lr == (1e-3 if "optimizer.name" in given else 0.05)


@pytest.mark.parametrize(
    ("given", "source"),
    [
        ({}, "none"),
        ({"method": "trustmix:shuffle"}, "none"),
        ({"method": "metamixup"}, None),  # cannot do without
        ({"method": "mixup"}, None),
        ({"method": "trustmix+apl"}, None),  # the labelled images are its meta set
        ({"meta.per_class": 5}, None),
        ({"meta.source": "list.txt"}, "list.txt"),
        ({"corrupt.kind": "replace", "corrupt.share": 0.2}, None),  # an experiment, whose clean set stays clean
        ({"data": "digits"}, None),  # its labels are right
        ({"data": "digits", "labels": "labels.csv"}, "none"),
    ],
)
def test_no_meta_set_is_drawn_from_labels_that_nobody_vouches_for(own_images, given, source):
    assert resolve({"data": own_images, **given}).meta.source == source


def test_a_folder_of_images_that_are_vouched_for_is_the_meta_set(tmp_path):
    write_photos(tmp_path / "photos", count=10)
    assert resolve({"data": str(tmp_path / "photos")}).meta.source == "none"
    write_photos(tmp_path / "photos" / "meta", count=2)
    assert resolve({"data": str(tmp_path / "photos")}).meta.source is None


def test_all_methods_train_on_the_same_own_images_whether_they_need_a_meta_set_or_not(own_images):
    settings = [resolve({"data": own_images, "method": name}) for name in ("trustmix", "mixup", "metamixup-logit")]
    ours, mixup, learned = (build_training(some) for some in settings)
    assert ours.meta is None
    assert ours.train.index.tolist() == mixup.train.index.tolist() == learned.train.index.tolist()
    assert ours.train.batch(3)[2].tolist() == mixup.train.batch(3)[2].tolist()
