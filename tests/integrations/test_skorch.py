"""skorch's nets with learned mixing, inside scikit-learn's tools."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import TensorDataset

from metamixup import Beta, Learned
from metamixup.integrations.skorch import NeuralNetClassifier, NeuralNetRegressor
from metamixup.trust import Trust

X, Y = make_classification(240, 8, n_informative=5, n_classes=3, class_sep=2.0, random_state=0)
X, Y = X.astype(np.float32), Y.astype(np.int64)


def mlp(outputs=3, last=None):
    torch.manual_seed(0)
    layers = [nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, outputs)]
    return nn.Sequential(*layers, *([last] if last else []))


def classifier(**options):
    defaults = {"criterion": nn.CrossEntropyLoss, "max_epochs": 15, "lr": 0.1, "batch_size": 32, "verbose": 0}
    return NeuralNetClassifier(mlp, **(defaults | options))


def test_cross_validation_and_pipelines():
    scores = cross_val_score(make_pipeline(StandardScaler(), classifier()), X, Y, cv=3)
    assert scores.mean() > 0.7


def test_grid_search_over_the_options_of_mixing():
    grid = {"mixing": [{"estimator": "exact"}, {"policy": Beta(0.4)}], "meta_share": [0.1]}
    search = GridSearchCV(classifier(max_epochs=3, train_split=None), grid, cv=2).fit(X, Y)
    assert search.best_params_["meta_share"] == 0.1


def test_the_meta_set_is_held_out_and_stratified():
    net = classifier(max_epochs=1, train_split=None, meta_share=0.2, meta_in_train=False).fit(X, Y)
    meta, train = net._meta_set, net.get_split_datasets(X, Y)[0]
    assert not set(meta.indices) & set(train.indices)
    assert len(meta) + len(train) == len(X)
    assert sorted(np.bincount(Y[meta.indices])) == [16, 16, 16]
    both, _ = net.set_params(meta_in_train=True).get_split_datasets(X, Y)
    assert len(both) == len(X)


def test_the_default_policy_is_the_products_own():
    net = classifier(max_epochs=1).fit(X, Y)
    assert isinstance(net._mixer.stage, Trust)
    net = classifier(max_epochs=1, mixing={"estimator": "head"}).fit(X, Y)
    assert isinstance(net._mixer.stage.policy, Learned)


def test_skorchs_default_loss_of_probabilities_is_served():
    net = NeuralNetClassifier(mlp, module__last=nn.Softmax(dim=1), max_epochs=20, lr=0.3, verbose=0).fit(X, Y)
    assert net.score(X, Y) > 0.8
    np.testing.assert_allclose(net.predict_proba(X[:5]).sum(1), 1, rtol=1e-5)


def test_saved_nets_predict_and_clones_train():
    net = classifier(max_epochs=2).fit(X, Y)
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(again.predict(X), net.predict(X))
    copy = clone(net).fit(X, Y)
    np.testing.assert_array_equal(copy.predict_proba(X), net.predict_proba(X))  # the same seed, the same net
    again.partial_fit(X, Y)


def test_a_data_set_of_the_users_own():
    data = TensorDataset(torch.as_tensor(X), torch.as_tensor(Y))
    net = classifier(max_epochs=2, train_split=None, classes=[0, 1, 2]).fit(data, None)
    assert net.history[-1]["train_loss"] > 0


@pytest.mark.parametrize("mix_at", ["input", "features"])
def test_regression(mix_at):
    x, y = make_regression(200, 8, noise=1.0, random_state=0)
    x, y = x.astype(np.float32), (y[:, None] / y.std()).astype(np.float32)
    net = NeuralNetRegressor(mlp, module__outputs=1, max_epochs=20, lr=0.05, verbose=0, mixing={"mix_at": mix_at})
    assert net.fit(x, y).score(x, y) > 0.7
