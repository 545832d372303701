"""Runs of an earlier version in the same folder. A new setting gives every run another name; a rival's run is still the
same run if, read by this version, its settings are those planned. What learns is never taken over: a new setting of a
policy may have another default than what the earlier version did."""

from pathlib import Path
from typing import Any

from metamixup.engine.records.run_folder import RunFolder
from metamixup.errors import UserError
from metamixup.settings.resolve import read_config
from metamixup.settings.schema import Settings, flat
from metamixup.tables.cells import PLACES, Run, learns


def earlier_folder(run: Run) -> Path | None:
    """A finished run of the same cell and seed under another name, or None."""
    name = run.folder.name.rpartition("-")[0]
    kin = [folder for folder in run.folder.parent.glob(f"{name}-*") if folder.name.rpartition("-")[0] == name]
    kin = [folder for folder in kin if folder != run.folder and RunFolder(folder).finished]
    if not kin or run.source is not None or learns(run.cell.given):
        return None
    planned = _told(run.settings())
    return next((folder for folder in sorted(kin) if _settings(folder) == planned), None)


def _settings(folder: Path) -> dict[str, Any] | None:
    try:
        return _told(read_config(RunFolder(folder).config))
    except UserError:
        return None


def _told(settings: Settings) -> dict[str, Any]:
    return {key: value for key, value in flat(settings.model_dump()).items() if key not in PLACES}
