"""Where the files of a named data set are looked for."""

import os
from collections.abc import Callable
from pathlib import Path

from metamixup.errors import DataError

VARIABLE = "METAMIXUP_DATA"
DEBIAN = Path("/usr/share/datasets")
Folder = str | Path | None


def data_folders(data_dir: Folder) -> list[Path]:
    """The given folder, then $METAMIXUP_DATA, then where Debian's data-set packages put their files."""
    named = [data_dir, os.environ.get(VARIABLE)]
    return [*(Path(folder).expanduser() for folder in named if folder), DEBIAN]


def find(name: str, data_dir: Folder, subfolders: tuple[str, ...], fits: Callable[[Path], bool]) -> Path:
    """The first folder (one of `subfolders`, or the data folder itself) whose content `fits`."""
    if data_dir is not None and not Path(data_dir).expanduser().is_dir():
        raise DataError(f"--data-dir {data_dir}: no such folder")
    folders = data_folders(data_dir)
    for folder in folders:
        # The data folder itself counts only where it was named: Debian's holds many data sets.
        for place in [folder / sub for sub in subfolders] + [folder] * (folder != DEBIAN):
            if place.is_dir() and fits(place):
                return place
    looked = ", ".join(str(folder / subfolders[0]) for folder in folders)
    raise DataError(f"{name}: its files were not found (looked in {looked}); give --data-dir or set ${VARIABLE}")


def refuse_pickles(data_dir: Folder, names: tuple[str, ...]) -> None:
    """Where only the pickled version of a data set is found, say why it is not read."""
    for path in (folder / name for folder in data_folders(data_dir) for name in names):
        if path.exists():
            raise DataError(
                f"{path}: this is the pickled version, and reading a pickle runs any code it holds; "
                "take the binary version from the same page"
            )
