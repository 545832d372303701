"""What a run keeps of its data, so that it can be told and used later: the split, and how images were whitened."""

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from metamixup.data.whiten import Whiten
from metamixup.engine.checkpoint import write_atomically
from metamixup.engine.records.folder import RunFolder
from metamixup.errors import UserError


def keep_split(folder: RunFolder, split: dict[str, Tensor]) -> None:
    """Positions in the training set by part. A run that goes on must find the split that it began with."""
    if not folder.split.exists():
        # Cloned: with few labels one tensor is both the training and the meta set, which the format refuses.
        write_atomically(folder.split, safetensors.torch.save({part: index.clone() for part, index in split.items()}))
        return
    stored = read_split(folder)
    if set(stored) != set(split) or not all(torch.equal(stored[part], split[part]) for part in split):
        raise UserError(
            f"the data are not those the run began with (its split is in {folder.split}); choose another --out"
        )


def read_split(folder: RunFolder) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(folder.split.read_bytes())
    except (OSError, safetensors.SafetensorError) as problem:
        raise UserError(f"{folder.split} cannot be read ({problem})") from problem


def keep_whitening(folder: RunFolder, whiten: Whiten | None) -> None:
    if whiten is not None and not folder.whiten.exists():
        write_atomically(folder.whiten, safetensors.torch.save({"mean": whiten.mean, "matrix": whiten.matrix}))


def read_whitening(folder: RunFolder) -> Whiten:
    try:
        stored = safetensors.torch.load(folder.whiten.read_bytes())
        return Whiten(stored["mean"], stored["matrix"])
    except (OSError, KeyError, safetensors.SafetensorError) as problem:
        raise UserError(f"{folder.whiten} cannot be read ({problem})") from problem
