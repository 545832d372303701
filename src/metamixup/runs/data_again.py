"""The data of a run once more: where they lie now, and whether they are what the run was trained on.

A run knows images by their position. Of other data, images that it was trained on could be taken for its test set.
"""

from pathlib import Path
from typing import Any

from metamixup.data import DataSet
from metamixup.data.fingerprint import fingerprint
from metamixup.engine import checkpoint
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.runs.saved import same_split
from metamixup.settings.build import build_data, build_split, corrupt
from metamixup.settings.resolve import with_whole_paths
from metamixup.settings.schema import Settings


def located(settings: Settings, data: str | None, data_dir: str | None) -> Settings:
    """The settings of a run whose data may lie elsewhere now: `data` is a folder or file of the user's own, `data_dir`
    the folder of data sets that have a name."""
    if data is None and Path(settings.data).is_absolute() and not Path(settings.data).exists():
        raise UserError(
            f"{settings.data}, which the run was trained on, is not there; "
            "if it was moved or renamed, say where it lies now: --data FOLDER (of evaluate and of audit)"
        )
    moved = {"data": data, "data_dir": data_dir}
    return settings.model_copy(update=with_whole_paths({key: value for key, value in moved.items() if value}))


def data_again(folder: RunFolder, settings: Settings) -> DataSet:
    """UserError if they are not those that the run was trained on."""
    found = build_data(settings)
    summary = folder.read_summary() if folder.finished else {}
    if summary.get("classes", list(found.classes)) != list(found.classes):
        raise _changed(folder, settings)
    try:
        parts = build_split(settings, found)
    except UserError as problem:  # once there were images enough
        raise _changed(folder, settings) from problem
    trained, parts, _ = corrupt(settings.corrupt, found, parts, settings.seed)
    before = summary.get("fingerprint") or _of_checkpoint(folder)
    # The last digits of whitened pixels are not alike on all machines.
    known = before is not None and found.whiten is None
    if not (fingerprint(trained) == before if known else same_split(folder, vars(parts))):
        raise _changed(folder, settings)
    return found


def _of_checkpoint(folder: RunFolder) -> Any:
    newest, _ = checkpoint.newest(folder.checkpoints)
    return None if newest is None else newest.state.get("data")


def _changed(folder: RunFolder, settings: Settings) -> UserError:
    return UserError(
        f"{folder.root}: its data has changed since it was trained ({settings.data}), and a run knows images by their "
        "position; put the files back, or train it again"
    )
