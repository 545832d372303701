"""The state of a run in a checkpoint: what belongs to it, which checkpoint serves, and whether it fits."""

from collections.abc import Callable
from typing import Any

from metamixup.engine import checkpoint
from metamixup.engine.checkpoint import Checkpoint
from metamixup.engine.checkpoint_check import mismatch, optimizer_mismatch
from metamixup.engine.records.epoch import EpochRecord
from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.engine.records.summary import is_epoch_line
from metamixup.engine.training import Training
from metamixup.errors import UserError


def run_state(training: Training, record: EpochRecord, lr: float) -> dict[str, Any]:
    return {
        "training": training.state_dict(),
        "recorder": record.state_dict(),
        "lr": lr,
        "data": training.fingerprint,
    }


def find_checkpoint(folder: RunFolder, steps_per_epoch: int, say: Callable[[str], None]) -> Checkpoint | None:
    """The newest one that is undamaged and whose epochs are all recorded; an epoch whose record was lost is trained
    again where an earlier checkpoint allows it."""
    recorded = _recorded_epochs(folder)
    found, damaged = checkpoint.newest(folder.checkpoints, lambda step: step // steps_per_epoch <= recorded)
    if found is None:
        found, damaged = checkpoint.newest(folder.checkpoints)
    if damaged and found is None:
        raise UserError(
            f"{damaged[0]}: damaged, and no other checkpoint is left; "
            f"remove {folder.checkpoints} to train this run from the start"
        )
    if damaged and found is not None:
        say(f"{damaged[0].name} is damaged; going on from {found.path.name}")
        checkpoint.set_aside(damaged)
    return found


def _recorded_epochs(folder: RunFolder) -> int:
    """How many epochs, from the first on without a gap, have their lines."""
    epochs = {line["epoch"] for line in read_lines(folder.metrics) if is_epoch_line(line)}
    epochs &= {line.get("epoch") for line in read_lines(folder.lambdas)}
    return next(k for k in range(len(epochs) + 1) if k + 1 not in epochs)


def load_state(found: Checkpoint, training: Training, record: EpochRecord) -> float:
    """Put the state into the objects of a run that was just built, and return the learning rate. UserError, and nothing
    is loaded, if it is not of this run."""
    problem = _mismatch(found, training, record)
    if problem is not None:
        raise UserError(f"{found.path}: does not fit this run ({problem}); was config.toml changed?")
    if found.state["data"] != training.fingerprint:
        raise UserError(
            f"the data is not what this run began with ({found.path} has another fingerprint); "
            "put the files back, or train anew in another --out"
        )
    try:
        training.load_state_dict(found.state["training"])
        record.load_state_dict(found.state["recorder"], next(training.model.parameters()).device)
    except (LookupError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{found.path}: does not fit this run ({reason}); was config.toml changed?") from error
    return float(found.state["lr"])


def _mismatch(found: Checkpoint, training: Training, record: EpochRecord) -> str | None:
    if found.step > training.steps:
        return f"step {found.step} of {training.steps}"
    own = run_state(training, record, 0.0)
    optimizer = own["training"]["optimizer"]
    own["training"]["optimizer"] = {}
    problem = mismatch(found.state, own)
    return problem or optimizer_mismatch(found.state["training"]["optimizer"], optimizer, training.parameters())
