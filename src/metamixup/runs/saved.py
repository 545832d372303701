"""What a run saves for later use: its split of the data, how images were whitened, and its final weights."""

import shlex

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from metamixup.data.whiten import Whiten
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.storage import read_file, write_atomically


def save_split(folder: RunFolder, split: dict[str, Tensor]) -> None:
    """Positions in the training set by part. A run that goes on must find the split that it began with."""
    if not folder.split.exists():
        # Cloned: with few labels one tensor is both the training and the meta set, which the format refuses.
        write_atomically(folder.split, safetensors.torch.save({part: index.clone() for part, index in split.items()}))
        return
    if not same_split(folder, split):
        raise UserError(
            f"the data are not those the run began with (its split is in {folder.split}); choose another --out"
        )


def same_split(folder: RunFolder, split: dict[str, Tensor]) -> bool:
    """Runs of older versions stored none, and are believed."""
    if not folder.split.exists():
        return True
    stored = read_split(folder)
    return set(stored) == set(split) and all(torch.equal(stored[part], split[part]) for part in split)


def read_split(folder: RunFolder) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(read_file(folder.split))
    except (OSError, safetensors.SafetensorError) as problem:
        raise UserError(f"{folder.split} cannot be read ({problem})") from problem


def save_whitening(folder: RunFolder, whiten: Whiten | None) -> None:
    if whiten is not None and not folder.whiten.exists():
        write_atomically(folder.whiten, safetensors.torch.save({"mean": whiten.mean, "matrix": whiten.matrix}))


def read_whitening(folder: RunFolder) -> Whiten:
    try:
        stored = safetensors.torch.load(read_file(folder.whiten))
        return Whiten(stored["mean"], stored["matrix"])
    except (OSError, KeyError, safetensors.SafetensorError) as problem:
        raise UserError(f"{folder.whiten} cannot be read ({problem})") from problem


def load_weights(model: nn.Module, folder: RunFolder) -> None:
    """Load the final weights of a run into a model of the same shape."""
    try:
        model.load_state_dict(safetensors.torch.load(read_file(folder.model)))
    except FileNotFoundError as error:
        going_on = f"metamixup train --resume --out {shlex.quote(str(folder.root))}"
        raise UserError(f"{folder.model} is missing: has the run ended? Go on with: {going_on}") from error
    except (RuntimeError, OSError, safetensors.SafetensorError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{folder.model} does not hold this model's weights ({reason})") from error
