"""Learned mixing for Lightning: one callback, no change to a LightningModule whose loss takes soft labels.

`torch.nn.functional.cross_entropy` does, and so do most losses. The callback hands `training_step` a blended batch.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from metamixup.mixer import MetaMixUp, Mixed
from metamixup.mixer.batches import LABELS, parted
from metamixup.mixer.meta_batches import Source


class MetaMixUpCallback(Callback):
    """`Trainer(callbacks=MetaMixUpCallback(meta, num_classes=10))`.

    Batches are (x, y), (x, y, index) as of `metamixup.Indexed`, or dictionaries; `training_step` gets (x, y).

    meta: the meta set: (x, y) tensors, a Dataset or a DataLoader; None for none.
    num_classes: of the labels; None for regression, with a `loss`.
    module: the name of the submodule that turns x into logits; by default the LightningModule's own `forward` does.
    seed: of all that is drawn.
    options: go to `MetaMixUp`: policy, estimator, every, loss, mix_at.
    """

    def __init__(
        self, meta: Source | None, num_classes: int | None, *, module: str = "", seed: int = 0, **options: Any
    ):
        self.meta, self.num_classes, self.module, self.seed, self.options = meta, num_classes, module, seed, options
        self.mixer: MetaMixUp | None = None
        self._restored: dict[str, Any] | None = None
        self._plain: Callable[..., Any] | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        seed = self.seed + trainer.global_rank  # each rank blends its own part of the batch
        model = pl_module.get_submodule(self.module)
        self.mixer = MetaMixUp(model, self.num_classes, meta=self.meta, seed=seed, **self.options)
        if self._restored is not None:
            self.mixer.load_state_dict(self._restored["mixer"])
        self._plain = pl_module.training_step
        # Wrapped, not called from a hook: a batch may be a tuple, which no hook could change.
        pl_module.training_step = self._wrapped(trainer, pl_module)  # type: ignore[method-assign]

    def _wrapped(self, trainer: Trainer, pl_module: LightningModule) -> Callable[..., Any]:
        plain, mixer = pl_module.training_step, self.mixer
        assert mixer is not None

        def training_step(batch: Any, *more: Any, **named: Any) -> Any:
            given = parted(batch)
            mixed = mixer(given.x, given.y, index=given.index, lr=trainer.optimizers[0])
            return mixed.outputs(lambda *x, **parts: plain(_again(batch, mixed, x, parts), *more, **named))

        return training_step

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._unwrap(pl_module)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._unwrap(pl_module)

    def _unwrap(self, pl_module: LightningModule) -> None:
        if self._plain is not None:
            pl_module.training_step = self._plain  # type: ignore[method-assign]

    def state_dict(self) -> dict[str, Any]:
        return {} if self.mixer is None else {"mixer": self.mixer.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._restored = state_dict or None


def _again(batch: Any, mixed: Mixed, x: tuple[Any, ...], parts: dict[str, Any]) -> Any:
    """The blended batch in the form of the one that came: a list of inputs and labels, or a dictionary."""
    if not isinstance(batch, Mapping):
        return [x[0] if len(x) == 1 else x, mixed.y]
    label = next(name for name in LABELS if name in batch)
    only = dict(zip(mixed.source, x, strict=False))  # a single input comes without its name
    return {**batch, **only, **parts, label: mixed.y}
