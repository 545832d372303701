"""May a new run be written to a folder? Asked before anything is built or trained."""

import shlex
from pathlib import Path

from metamixup.data import known_data
from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.settings.schema import Settings


def check_new(folder: RunFolder, settings: Settings) -> None:
    refuse_other(folder)
    _refuse_inside_data(folder, settings)


def refuse_other(folder: RunFolder) -> None:
    if folder.root.exists() and not folder.root.is_dir():
        raise UserError(f"{folder.root} is a file; choose another --out")
    if folder.holds_run and not folder.config.exists():
        raise UserError(
            f"{folder.root} holds files of a run, but its config.toml, without which it cannot go on, is missing; "
            "put it back or choose another --out"
        )
    if folder.holds_run:
        raise UserError(f"{folder.root} already holds a run; go on with --resume or choose another --out")


def _refuse_inside_data(folder: RunFolder, settings: Settings) -> None:
    """A run's folder among the images would be taken for one of their classes by whoever reads them next."""
    data, root = Path(settings.data).expanduser(), folder.root.resolve()
    if settings.data not in known_data() and data.is_dir() and root.is_relative_to(data.resolve()):
        outside = data.resolve().parent / "runs" / root.name
        raise UserError(
            f"the run folder {folder.root} lies inside the data, {data}; "
            f"choose one outside, as --out {shlex.quote(str(outside))}"
        )
