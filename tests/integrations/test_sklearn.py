"""The classifier for arrays, by scikit-learn's own checks."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from metamixup import Beta
from metamixup.integrations.sklearn import MetaMixUpClassifier, Standardise
from metamixup.trust import Suspect

X, Y = load_iris(return_X_y=True)


@parametrize_with_checks([MetaMixUpClassifier(epochs=12, lr=0.1, random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_learns_and_keeps_the_users_labels_and_random_state():
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    before = torch.get_rng_state()
    model = MetaMixUpClassifier(epochs=20, random_state=0).fit(X, names)
    assert torch.equal(torch.get_rng_state(), before)
    assert model.score(X, names) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1, rtol=1e-5)
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clone(model).fit(X, names).predict_proba(X), model.predict_proba(X))


HELD_OUT = {"estimator": "exact", "mix_at": "features", "every": 2, "meta_in_train": False}


@pytest.mark.parametrize("options", [{"policy": Beta(0.4)}, HELD_OUT])
def test_options_of_the_mixer_and_cross_validation(options):
    scores = cross_val_score(MetaMixUpClassifier(epochs=10, lr=0.1, random_state=0, **options), X, Y, cv=2)
    assert scores.mean() > 0.75


def test_the_samples_whose_labels_look_wrong():
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 600)
    x, names = random.normal(size=(600, 8)) + 3 * np.eye(3, 8)[truth], np.array(["ant", "bee", "cow"])
    wrong = random.permutation(600)[:150]
    given = truth.copy()
    given[wrong] = (truth[wrong] + 1) % 3
    found = MetaMixUpClassifier(epochs=30, random_state=0).fit(x, names[given]).suspects_
    assert len(found) > 100
    assert np.isin(found["index"], wrong).mean() > 0.9
    np.testing.assert_array_equal(found["given"], names[given][found["index"]])
    assert (found["likely"] == names[truth[found["index"]]]).mean() > 0.9
    assert len(MetaMixUpClassifier(epochs=30, random_state=0).fit(x, truth).suspects_) == 0


def test_a_likely_class_that_nobody_knows_is_none(monkeypatch):
    """With very many classes the memory tells which labels look wrong, but not as what."""
    suspect = Suspect(5, None, None, 0.9)
    monkeypatch.setattr("metamixup.trust.labels.Labels.taken_for_wrong", lambda *_: [suspect])
    y = np.arange(20) % 2 + 7
    found = MetaMixUpClassifier(epochs=1, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 3)), y)
    assert found.suspects_.tolist() == [(5, 8, None, 0.9)]


@pytest.mark.parametrize("form", ["module", "function"])
def test_images_with_a_module_of_ones_own(form):
    images = np.random.default_rng(0).normal(size=(40, 1, 4, 4)) + (np.arange(40) % 2)[:, None, None, None]

    def make(shape, classes):
        return nn.Sequential(
            nn.Conv2d(shape[0], 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, classes)
        )

    module = make((1, 4, 4), 2) if form == "module" else make
    model = MetaMixUpClassifier(module, epochs=8, batch_size=16, random_state=0).fit(images, np.arange(40) % 2)
    assert model.predict(images).shape == (40,)
    assert model.module_ is not module


@pytest.mark.parametrize("size", [2, len(X) - 2])
def test_no_batch_is_a_rest_of_one_sample(size):
    def make(shape, classes):
        return nn.Sequential(nn.Linear(*shape, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, classes))

    model = MetaMixUpClassifier(make, epochs=2, batch_size=size, random_state=0).fit(X[1:], Y[1:])
    assert model.predict(X[:1]).shape == (1,)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e25])
def test_features_count_whatever_their_size_and_constant_ones_do_not(size):
    x = torch.tensor(size * np.c_[X, np.full(len(X), 0.1)], dtype=torch.float32)
    standard = Standardise(x)(x)
    assert torch.allclose(standard[:, :4].std(0, correction=0), torch.ones(4), rtol=1e-4)
    assert standard[:, 4].abs().max() == 0


def test_a_column_that_only_rounding_changes_is_constant():
    x = torch.tensor([[0.3, 1], [0.3, 1], [0.30000004, 1.0001]])
    standard = Standardise(x)(x).abs().max(0).values
    assert standard[0] < 1e-6
    assert standard[1] > 1, "what differs by more is not"


def test_a_sample_a_class_still_trains():
    assert MetaMixUpClassifier(epochs=2, random_state=0).fit(X[[0, 50, 100]], [0, 1, 2]).predict(X[:2]).shape == (2,)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        MetaMixUpClassifier().predict(X)
