"""A trained run as objects again: its network, data and policy, for studies that look inside."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from metamixup.analysis.records import Records, read_run
from metamixup.data import DataSet, ImageSet, Split
from metamixup.data.stream import Normalise, Stream
from metamixup.engine import checkpoint
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.runtime import Runtime, usable_threads
from metamixup.engine.step import Stepper
from metamixup.engine.training import Training
from metamixup.errors import UserError
from metamixup.network import captured_inputs, classifier_name
from metamixup.runs.data_again import data_again, located
from metamixup.runs.saved import load_weights, read_split
from metamixup.settings.build import build_training
from metamixup.settings.config import read_config

BATCH = 500


@dataclass(frozen=True)
class Rebuilt:
    """found: the data with the labels that the run was trained on; split: which images it was trained on; whole: was
    the policy found too? The weights alone do not hold it."""

    records: Records
    found: DataSet
    split: Split
    training: Training
    stepper: Stepper
    whole: bool = True

    @property
    def model(self) -> nn.Module:
        """The weights that the run reports, in evaluation mode."""
        return self.training.evaluated()[1].eval()

    def inputs(self, images: ImageSet, index: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """(x, y) in batches, normalised and unaugmented."""
        normalise = Normalise(self.found.mean, self.found.std, images.images)
        for part in index.split(BATCH):
            yield self.stepper.runtime.to_device(normalise(images.images[part])), images.labels[part]

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """(B, F) what the last linear layer is given."""
        model = self.model
        with captured_inputs(model.get_submodule(classifier_name(model, lambda net: net(x)))) as inputs:
            model(x)
        return inputs[-1].flatten(1).float().cpu()

    def mixed(self, samples: int) -> Iterator[tuple[Tensor, Tensor]]:
        """At least `samples` blends, as (x, the labels of both partners (B, 2)), of steps spread over the whole run.

        Batches, partners and first λ are those of training; λ is refined with the trained network and policy.
        """
        t = self.training
        learned = copy.deepcopy(t.stage.state_dict())
        if not self.whole and learned.get("policy", learned):
            raise UserError(
                f"{self.records.path}: no checkpoint that this version reads, so its policy is lost; train it again"
            )
        steps = min(t.steps, -(-samples // self._batch_size()))
        for step in torch.linspace(0, t.steps - 1, steps).long().tolist():
            batch, mixture = self.stepper.look(step)
            # looking must not teach it
            t.stage.load_state_dict({**copy.deepcopy(learned), "steps": t.stage.steps})
            n = len(batch.x)
            kept = (mixture.partner[:n] < n).nonzero().squeeze(1)  # blends with unlabelled images are left out
            labels, partner = batch.y.argmax(1).cpu(), mixture.partner[:n].cpu()
            if len(kept) == n == len(mixture.lam):
                yield mixture.inputs(batch.x), torch.stack([labels, labels[partner]], 1)

    def _batch_size(self) -> int:
        return len(self.training.train.batch(0)[1])


def rebuild(path: Path, data_dir: str | None = None, data: str | None = None) -> Rebuilt:
    """From config.toml, the data, and the newest checkpoint (or else the final weights). `data`: where the user's own
    images lie now."""
    records, folder = read_run(path), RunFolder(path)
    if not folder.config.exists():
        raise UserError(f"{path}: without config.toml this run's network cannot be built again")
    settings = located(read_config(folder.config), data, data_dir).model_copy(update={"compile": False})
    found = data_again(folder, settings)
    training = build_training(settings, found)
    stepper = Stepper(training, Runtime(usable_threads(), settings.precision, settings.device), lambda text: None)
    whole = _restored(training, folder)
    if not whole:
        load_weights(training.evaluated()[1], folder)
    return Rebuilt(records, _as_trained(found, training), _split(folder, training), training, stepper, whole)


def _as_trained(found: DataSet, training: Training) -> DataSet:
    """With the labels that the run was given, wrong ones included."""
    assert isinstance(training.train, Stream)
    return replace(found, train=training.train.images)


def _split(folder: RunFolder, training: Training) -> Split:
    """As the run stored it; those of older versions did not."""
    return Split(**(read_split(folder) if folder.split.exists() else training.split))


def _restored(training: Training, folder: RunFolder) -> bool:
    """Is the newest checkpoint there, and one that this version can read?"""
    newest, _ = checkpoint.newest(folder.checkpoints)
    if newest is None:
        return False
    try:
        training.load_state_dict(newest.state["training"])
    except (KeyError, RuntimeError, ValueError):
        return False
    return True
