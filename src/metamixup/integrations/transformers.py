"""Learned mixing for the Trainer of Hugging Face: import `Trainer` from here instead of from transformers.

Images are blended by their pixels, text by its embeddings.
"""

import inspect
import io
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import Trainer as Plain
from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, get_last_checkpoint

from metamixup.errors import UserError
from metamixup.mixer import Indexed, MetaMixUp
from metamixup.mixer.batches import INDEX, LABELS, by_sample, parted
from metamixup.mixing import soft_cross_entropy
from metamixup.network import logits_of
from metamixup.storage import write_atomically

STATE = "mixer.pt"  # in a checkpoint's folder


class Trainer(Plain):
    """transformers' Trainer for sequence or image classification, with learned mixing in training.

    meta_dataset: the meta set, whose labels are surely right, in the form of `train_dataset`; None for none.
    mixing: options of `MetaMixUp` (policy, estimator, every, mix_at, seed).
    """

    def __init__(
        self, *args: Any, meta_dataset: Dataset[Any] | None = None, mixing: dict[str, Any] | None = None, **kwargs: Any
    ):
        super().__init__(*args, **kwargs)
        if self.train_dataset is None:
            raise UserError("MetaMixUp's Trainer needs a train_dataset whose samples have a place: dataset[i]")
        if self.compute_loss_func is not None:
            raise UserError(
                "the loss of blends is the cross entropy: leave out compute_loss_func, which was made for classes"
            )
        if "loss" in (mixing or {}):
            raise UserError("the loss of blends is the cross entropy: leave out 'loss' in mixing")
        # Ours is the mean of a batch, which the Trainer is to divide where gradients are accumulated.
        self.model_accepts_loss_kwargs = False
        known = _known_keys(cast(nn.Module, self.model))
        collate = self.data_collator
        self.data_collator = lambda samples: _collated(samples, collate, known)
        self.args.remove_unused_columns = False  # the index would be one of them; the collator removes the others
        self.train_dataset = Indexed(self.train_dataset)
        self._meta_dataset, self._mixing = meta_dataset, mixing or {}
        self._mixer: MetaMixUp | None = None
        self._collate_meta: Callable[..., Any] = self.data_collator
        self._resumed: str | None = None
        self.add_callback(_SaveMixer(self))

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        last = resume_from_checkpoint is True
        self._resumed = get_last_checkpoint(self.args.output_dir) if last else cast(str, resume_from_checkpoint)
        if resume_from_checkpoint:
            self._mixer = None  # one of an earlier call has learned on since that checkpoint
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def compute_loss(  # type: ignore[override]
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **kwargs: Any
    ) -> Any:
        if not model.training:
            plain = {name: value for name, value in inputs.items() if name not in INDEX}
            return super().compute_loss(model, plain, return_outputs=return_outputs, **kwargs)
        if self._mixer is None or self._mixer.model is not self.model:  # `model_init` makes one for every run
            self._mixer = self._make_mixer(cast(nn.Module, self.model), inputs)
        mixed = self._mixer(dict(inputs), lr=self.optimizer)
        outputs = mixed.outputs(model)
        loss = self._mixer.loss(logits_of(outputs), mixed.y)
        return (loss, outputs) if return_outputs else loss

    def _make_mixer(self, model: nn.Module, inputs: Mapping[str, Any]) -> MetaMixUp:
        batch = parted(dict(inputs))
        options = {
            "mix_at": _blend_point(model, batch.x, len(batch.y)),
            "seed": self.args.seed,
            "loss": partial(soft_cross_entropy, label_smoothing=self.args.label_smoothing_factor),
            **self._mixing,
        }
        meta = None if self._meta_dataset is None else _Collated(self._meta_dataset, self._collate_meta)
        mixer = MetaMixUp(model, cast(Any, model).config.num_labels, meta=meta, **options)
        saved = Path(self._resumed) / STATE if self._resumed else None
        if saved is not None and saved.exists():  # a checkpoint of the plain Trainer has none
            mixer.load_state_dict(torch.load(saved, map_location="cpu", weights_only=True))
        return mixer


class _SaveMixer(TrainerCallback):
    """What the mixer learned goes into each checkpoint: a run that goes on from one would begin to learn anew."""

    def __init__(self, trainer: Trainer):
        self.trainer = trainer

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        folder = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
        mixer = self.trainer._mixer
        if mixer is None or not state.is_world_process_zero or not folder.is_dir():
            return
        content = io.BytesIO()
        torch.save(mixer.state_dict(), content)
        write_atomically(folder / STATE, content.getvalue())


class _Collated(Dataset[Any]):
    """Samples one by one as the collator makes them, so that lists of tokens are tensors of one length."""

    def __init__(self, dataset: Dataset[Any], collate: Callable[[list[Any]], dict[str, Tensor]]):
        self.rows = collate([dataset[i] for i in range(len(dataset))])  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(next(iter(self.rows.values())))

    def __getitem__(self, i: int) -> dict[str, Tensor]:
        return {name: value[i] for name, value in self.rows.items()}


def _known_keys(model: nn.Module) -> set[str]:
    """What a sample may hold for this model."""
    return {*inspect.signature(model.forward).parameters, *LABELS}


def _collated(samples: list[Any], collate: Callable[[list[Any]], Any], known: set[str]) -> dict[str, Tensor]:
    """A batch of what the model knows, with the index of the samples where they have one."""
    batch = collate([{name: value for name, value in sample.items() if name in known} for sample in samples])
    if all(INDEX[0] in sample for sample in samples):
        batch[INDEX[0]] = torch.tensor([sample[INDEX[0]] for sample in samples])
    return dict(batch)


def _blend_point(model: nn.Module, x: Any, n: int) -> str:
    """The input where it is of floats; the embedding of tokens otherwise. n: how many samples there are."""
    if by_sample(x, n)[0]:
        return "input"
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    return next(name for name, module in model.named_modules() if module is embedding)
