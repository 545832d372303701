"""A scikit-learn classifier for arrays in memory: a network trained with learned mixing."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from metamixup.data.splits import stratified_test
from metamixup.mixer import MetaMixUp
from metamixup.policy import Policy
from metamixup.seeding import derived_generator
from metamixup.trust import Trust

ROUNDING = 4  # units in the last place, by which the values of a constant may differ
MakeModule = Callable[[tuple[int, ...], int], nn.Module]


class MetaMixUpClassifier(ClassifierMixin, BaseEstimator):
    """`fit`, `predict`, `predict_proba` and `score` for arrays (n, features), or (n, …) with a `module` of one's own.

    `module` is an `nn.Module` that gives logits, or a function (shape of a sample, classes) → module; by default two
    hidden layers on standardised features. `meta_share` of the training data is the meta set: held out, or with
    `meta_in_train` trained on too, which is right for the default policy and no other learned one. `policy`,
    `estimator`, `every` and `mix_at` are those of `MetaMixUp`.

    After `fit` with the default policy, `suspects_` is an array of the samples whose labels look wrong, the worst
    first: `index` (the row of X), `given`, `likely` (the class it likely is; None with 128 classes or
    more) and `wrong` (how likely the label is).
    """

    def __init__(
        self,
        module: nn.Module | MakeModule | None = None,
        *,
        epochs: int = 50,
        batch_size: int = 64,
        lr: float = 0.05,
        weight_decay: float = 1e-4,
        meta_share: float = 0.1,
        meta_in_train: bool = True,
        policy: Policy | None = None,
        estimator: Any = None,
        every: int | None = None,
        mix_at: str = "input",
        device: str = "cpu",
        random_state: Any = None,
    ):
        self.module = module
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.meta_share = meta_share
        self.meta_in_train = meta_in_train
        self.policy = policy
        self.estimator = estimator
        self.every = every
        self.mix_at = mix_at
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "MetaMixUpClassifier":
        X, y = validate_data(self, X, y, dtype=np.float32, allow_nd=self.module is not None)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        x, labels = torch.from_numpy(X), torch.from_numpy(codes.astype(np.int64))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with torch.random.fork_rng(devices=[]):  # weights and dropout follow random_state; the user's stream stands
            torch.manual_seed(seed)
            self.module_ = self._module(x, len(self.classes_)).to(self.device)
            mixer = self._train(x, labels, seed)
        if isinstance(mixer.stage, Trust):
            self.suspects_ = self._suspects(mixer.stage, codes)
        self.module_.eval()
        return self

    def _module(self, x: Tensor, classes: int) -> nn.Module:
        if isinstance(self.module, nn.Module):
            return deepcopy(self.module)
        return self.module(tuple(x.shape[1:]), classes) if self.module else multilayer(x, classes)

    def _suspects(self, stage: Trust, codes: np.ndarray) -> np.ndarray:
        found, kind = stage.labels.taken_for_wrong(), self.classes_.dtype
        named = [None if s.likely is None else self.classes_[s.likely] for s in found]
        fields = [("index", np.int64), ("given", kind), ("likely", object if None in named else kind), ("wrong", float)]
        rows = [(s.index, self.classes_[codes[s.index]], name, s.wrong) for s, name in zip(found, named, strict=True)]
        return np.array(rows, dtype=np.dtype(fields))

    def _train(self, x: Tensor, labels: Tensor, seed: int) -> MetaMixUp:
        train, chosen = stratified_test(labels, len(self.classes_), self.meta_share, seed)
        chosen = chosen if len(chosen) else train  # a sample a class: then what is trained on must serve
        train = torch.arange(len(x)) if self.meta_in_train else train
        optimizer = torch.optim.SGD(self.module_.parameters(), self.lr, momentum=0.9, weight_decay=self.weight_decay)
        rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, self.epochs))
        mixer = self._mixer((x[chosen], labels[chosen]), optimizer, seed)
        self.module_.train()
        for epoch in range(self.epochs):
            order = torch.randperm(len(train), generator=derived_generator(seed, "order", epoch))
            # Batches are alike in size: BatchNorm takes no rest of one sample.
            for rows in train[order].tensor_split(parts_of(len(train), self.batch_size)):
                mixed = mixer(x[rows].to(self.device), labels[rows].to(self.device), rows)
                self._step(optimizer, cross_entropy(mixed.outputs(self.module_), mixed.y))
            rate.step()
        return mixer

    def _mixer(self, meta: tuple[Tensor, Tensor], optimizer: torch.optim.Optimizer, seed: int) -> MetaMixUp:
        return MetaMixUp(
            self.module_,
            len(self.classes_),
            meta=meta,
            lr=optimizer,
            policy=deepcopy(self.policy),
            estimator=deepcopy(self.estimator),
            every=self.every,
            mix_at=self.mix_at,
            seed=seed,
        )

    @staticmethod
    def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    @torch.no_grad()
    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, allow_nd=self.module is not None, reset=False)
        parts = torch.from_numpy(X).split(max(self.batch_size, 256))
        return torch.cat([self.module_(part.to(self.device)).softmax(1).cpu() for part in parts]).numpy()

    def predict(self, X: Any) -> np.ndarray:
        codes = self.predict_proba(X).argmax(1)
        return self.classes_[codes]


def parts_of(n: int, size: int) -> int:
    """How many batches of about this size n samples make: none of a single sample, but where there is just one."""
    return max(1, min(-(-n // size), n // 2))


class Standardise(nn.Module):
    """(x − mean) / deviation of the training features, which it keeps. Of whatever size: only what is constant, but for
    rounding, has no deviation."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, x: Tensor):
        super().__init__()
        deviation, mean = torch.std_mean(x.double(), 0, correction=0)
        varies = deviation > ROUNDING * torch.finfo(x.dtype).eps * mean.abs()
        self.register_buffer("mean", mean.to(x))
        self.register_buffer("deviation", torch.where(varies, deviation, 1).to(x))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.deviation


def multilayer(x: Tensor, classes: int, width: int = 64) -> nn.Sequential:
    """Two hidden layers on standardised features. x: (n, features), the training set."""
    return nn.Sequential(
        Standardise(x),
        nn.Linear(x.shape[1], width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, classes),
    )
