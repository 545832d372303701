"""Finished runs that an older version left in the grid's folder. A new setting changes the name of every run's folder;
a rival's run counts all the same if its stored settings, read by this version, are those planned. Runs that learn from
the meta set never count: a new setting of a policy may default to something else than what the older version did."""

from pathlib import Path
from typing import Any

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.settings.config import read_config
from metamixup.settings.dotted import flat
from metamixup.settings.schema import Settings
from metamixup.tables.cells import PATHS, Run, learns


def run_of_older_version(run: Run) -> Path | None:
    """The folder of a finished run of the same cell and seed under another name, or None."""
    name = run.folder.name.rpartition("-")[0]
    same = [folder for folder in run.folder.parent.glob(f"{name}-*") if folder.name.rpartition("-")[0] == name]
    finished = [folder for folder in same if folder != run.folder and RunFolder(folder).finished]
    if not finished or run.source is not None or learns(run.cell.given):
        return None
    planned = _compared(run.settings())
    return next((folder for folder in sorted(finished) if _stored(folder) == planned), None)


def _stored(folder: Path) -> dict[str, Any] | None:
    try:
        return _compared(read_config(RunFolder(folder).config))
    except UserError:
        return None


def _compared(settings: Settings) -> dict[str, Any]:
    return {key: value for key, value in flat(settings.model_dump()).items() if key not in PATHS}
