"""Learned mixing for Lightning: one callback, no change to a LightningModule whose loss takes soft labels.

`torch.nn.functional.cross_entropy` does, and so do most losses. The callback hands `training_step` a blended batch.
"""

from collections.abc import Callable
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from metamixup.errors import UserError
from metamixup.integrations.meta_batches import MetaBatches, Source
from metamixup.mixer import MetaMixUp


class MetaMixUpCallback(Callback):
    """`Trainer(callbacks=MetaMixUpCallback(meta, num_classes=10))`.

    `meta` is the meta set: (x, y) tensors, a Dataset or a DataLoader of pairs. `module` names the submodule that turns
    x into logits; by default the LightningModule's own `forward` does. Everything else goes to `MetaMixUp`.
    """

    def __init__(self, meta: Source, num_classes: int | None, *, module: str = "", seed: int = 0, **options: Any):
        self.meta, self.num_classes, self.module, self.seed, self.options = meta, num_classes, module, seed, options
        self.mixer: MetaMixUp | None = None
        self._restored: dict[str, Any] | None = None
        self._plain: Callable[..., Any] | None = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        seed = self.seed + trainer.global_rank  # each rank blends its own part of the batch
        model = pl_module.get_submodule(self.module)
        self.mixer = MetaMixUp(model, self.num_classes, seed=seed, **self.options)
        batches = MetaBatches(self.meta, seed)
        if self._restored is not None:
            batches.steps = self._restored["meta"]
            self.mixer.load_state_dict(self._restored["mixer"])
        self._batches, self._plain = batches, pl_module.training_step
        # Wrapped, not called from a hook: a batch may be a tuple, which no hook could change.
        pl_module.training_step = self._wrapped(trainer, pl_module)  # type: ignore[method-assign]

    def _wrapped(self, trainer: Trainer, pl_module: LightningModule) -> Callable[..., Any]:
        plain, mixer = pl_module.training_step, self.mixer
        assert mixer is not None

        def training_step(batch: Any, *more: Any, **named: Any) -> Any:
            x, y = _pair(batch)
            x_meta, y_meta = (part.to(x.device) for part in self._batches.next(len(x)))
            mixed = mixer(x, y, x_meta, y_meta, lr=trainer.optimizers[0])
            return mixed.outputs(lambda x: plain([x, mixed.y], *more, **named))

        return training_step

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._unwrap(pl_module)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._unwrap(pl_module)

    def _unwrap(self, pl_module: LightningModule) -> None:
        if self._plain is not None:
            pl_module.training_step = self._plain  # type: ignore[method-assign]

    def state_dict(self) -> dict[str, Any]:
        return {} if self.mixer is None else {"mixer": self.mixer.state_dict(), "meta": self._batches.steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._restored = state_dict or None


def _pair(batch: Any) -> tuple[Tensor, Tensor]:
    if not (isinstance(batch, list | tuple) and len(batch) == 2 and all(isinstance(part, Tensor) for part in batch)):
        raise UserError(f"MetaMixUpCallback blends batches (x, y) of two tensors, not a {type(batch).__name__}")
    return batch[0], batch[1]
