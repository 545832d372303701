"""Learned mixing for skorch: import `NeuralNetClassifier` or `NeuralNetRegressor` from here instead of from skorch.

Everything of skorch and scikit-learn goes on working: callbacks, pipelines, `cross_val_score`, grid search.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import skorch
import torch
from skorch.dataset import unpack_data
from skorch.utils import data_from_dataset, to_tensor
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset, Subset

from metamixup.choices import DEFAULT_POLICY
from metamixup.data.splits import stratified_test
from metamixup.mixer import MetaMixUp, Mixed
from metamixup.seeding import derived_generator


class MetaMixUpMixin:
    """Put it before a skorch net. `meta_share` of the training data is the meta set: held out, or with `meta_in_train`
    trained on too, which is right for the default policy of classifiers and no other learned one. `mixing` are options
    of `MetaMixUp` (policy, estimator, every, mix_at), and `mixing_seed` settles both."""

    # what the net it stands before has
    device: Any
    module_: nn.Module
    optimizer_: Any
    infer: Callable[..., Any]
    get_loss: Callable[..., Tensor]
    _set_training: Callable[[bool], None]

    def __init__(
        self,
        *args: Any,
        meta_share: float = 0.1,
        meta_in_train: bool = False,
        mixing: dict[str, Any] | None = None,
        mixing_seed: int = 0,
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.meta_share, self.meta_in_train, self.mixing_seed = meta_share, meta_in_train, mixing_seed
        self.mixing = mixing

    def get_split_datasets(self, X: Any, y: Any = None, **fit_params: Any) -> tuple[Dataset[Any], Dataset[Any] | None]:
        train, valid = super().get_split_datasets(X, y, **fit_params)  # type: ignore[misc]
        rest, held_out = self._held_out(_targets(train))
        self._meta_set = Subset(train, held_out.tolist())
        return train if self.meta_in_train else Subset(train, rest.tolist()), valid

    def initialize_module(self) -> Any:
        done = super().initialize_module()  # type: ignore[misc]
        self._mixer: MetaMixUp | None = None  # made at the first batch: a fresh module has a fresh one
        return done

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        self._set_training(True)
        x, y = unpack_data(batch)
        mixed = self._mixed(x, y)
        y_pred = mixed.outputs(lambda x: self.infer(x, **fit_params))
        loss = self.get_loss(y_pred, mixed.y, X=x, training=True)
        loss.backward()
        return {"loss": loss, "y_pred": y_pred}

    def _mixed(self, x: Any, y: Any) -> Mixed:
        x, y = (to_tensor(part, self.device) for part in (x, y))
        if self._mixer is None:
            self._mixer = MetaMixUp(
                self.module_,
                self._num_classes(),
                meta=self._meta_set,
                lr=self.optimizer_,
                loss=lambda y_pred, y: self.get_loss(y_pred, y, training=True),
                seed=self.mixing_seed,
                **deepcopy(self._options()),  # a policy that learns starts afresh in every fit
            )
        return self._mixer(x, y)

    def __getstate__(self) -> dict[str, Any]:
        """A saved net predicts; what only training needs stays behind."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_meta_set"} | {"_mixer": None}

    def _options(self) -> dict[str, Any]:
        return self.mixing or {}

    def _num_classes(self) -> int | None:
        return None

    def _held_out(self, y: Tensor) -> tuple[Tensor, Tensor]:
        order = torch.randperm(len(y), generator=derived_generator(self.mixing_seed, "split"))
        n = max(1, round(self.meta_share * len(y)))
        return order[n:], order[:n]


class NeuralNetClassifier(MetaMixUpMixin, skorch.NeuralNetClassifier):
    """skorch's classifier, with learned mixing."""

    def __init__(self, *args: Any, meta_in_train: bool = True, **kwargs: Any):
        super().__init__(*args, meta_in_train=meta_in_train, **kwargs)

    def _options(self) -> dict[str, Any]:
        """The product's own policy, which needs the cross entropy, where nothing else is asked for."""
        plain = isinstance(self.criterion_, nn.CrossEntropyLoss | nn.NLLLoss)
        asked = self.mixing or {}
        return {"policy": DEFAULT_POLICY, **asked} if plain and not asked.keys() & {"policy", "estimator"} else asked

    def _num_classes(self) -> int:
        return len(self.classes_)

    def _held_out(self, y: Tensor) -> tuple[Tensor, Tensor]:
        return stratified_test(y.long(), int(y.max()) + 1, self.meta_share, self.mixing_seed)

    def get_loss(self, y_pred: Tensor, y_true: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """skorch's default loss takes class indices; its form for soft labels is the cross entropy of log p."""
        if isinstance(self.criterion_, nn.NLLLoss) and y_true.is_floating_point():
            logits = torch.log(y_pred + torch.finfo(y_pred.dtype).eps)
            return cross_entropy(logits, y_true, weight=self.criterion_.weight, reduction=self.criterion_.reduction)
        return super().get_loss(y_pred, y_true, *args, **kwargs)


class NeuralNetRegressor(MetaMixUpMixin, skorch.NeuralNetRegressor):
    """skorch's regressor, blending its floating targets."""


def _targets(dataset: Any) -> Tensor:
    try:
        y = data_from_dataset(dataset)[1]
    except AttributeError:  # a Dataset of the user's own
        y = None
    return torch.as_tensor([dataset[i][1] for i in range(len(dataset))] if y is None else y)
