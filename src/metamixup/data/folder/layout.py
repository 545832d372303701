"""Which folder of a data set is which part, by its name in any case: train/, test/, unlabelled/, meta/ or a class.

Runs that were written into the data folder are no part of it.
"""

from dataclasses import dataclass
from pathlib import Path

from metamixup.data.folder.files import folders_of
from metamixup.errors import DataError

TRAIN = ("train", "training")
TEST = ("test", "testing")
VALIDATION = ("val", "valid", "validation", "dev")  # the test set where there is no other
UNLABELLED = ("unlabelled", "unlabeled")
META = ("meta",)
RUNS = "runs"
OF_A_RUN = ("checkpoints", "summary.json")


@dataclass(frozen=True)
class Layout:
    """labelled: the folder that holds those of the classes; `test` is None where there is no test set of its own."""

    labelled: Path
    classes: list[Path]
    test: Path | None
    unlabelled: Path | None
    meta: Path | None


def layout_of(root: Path) -> Layout:
    top = data_folders(root)
    train = _part(top, TRAIN)
    if train is None:
        _refuse_parts_as_classes(root, top)
    inside = top if train is None else data_folders(train)
    classes = [folder for folder in inside if folder.name.lower() not in UNLABELLED + META]
    if len(classes) < 2:
        raise DataError(_too_few(root, train, classes))
    everywhere = top if train is None else [*top, *inside]
    test = None if train is None else _part(top, TEST) or _part(top, VALIDATION)
    return Layout(train or root, classes, test, _part(everywhere, UNLABELLED), _part(everywhere, META))


def data_folders(root: Path) -> list[Path]:
    """The folders that may hold data, sorted by name."""
    return [folder for folder in folders_of(root) if not _is_run(folder) and not _holds_runs(folder)]


def _is_run(folder: Path) -> bool:
    return (folder / "config.toml").is_file() and any((folder / name).exists() for name in OF_A_RUN)


def _holds_runs(folder: Path) -> bool:
    """A run that was stopped early, or another one that is just beginning, has a config.toml alone."""
    return folder.name == RUNS and any(any(folder.glob(f"{depth}/config.toml")) for depth in ("*", "*/*"))


def _part(folders: list[Path], names: tuple[str, ...]) -> Path | None:
    found = [folder for folder in folders if folder.name.lower() in names]
    if len(found) > 1:
        raise DataError(f"{found[0]} and {found[1]}: both are named like the same part of the data; keep one of them")
    return found[0] if found else None


def _refuse_parts_as_classes(root: Path, top: list[Path]) -> None:
    """Without train/ beside it a test set would be trained on, as a class of its own."""
    names = [folder.name.lower() for folder in top]
    for folder, name in zip(top, names, strict=True):
        if name in TEST + VALIDATION and not (name == "valid" and "invalid" in names):
            raise DataError(
                f"{folder}: is named like a part of the data, but there is no train/ beside it; move the folders of "
                f"the classes into {root / 'train'}, or if {folder.name!r} is itself a class, rename it"
            )


def _too_few(root: Path, train: Path | None, classes: list[Path]) -> str:
    labelled = train or root
    told = f"{labelled}: needs one folder of images for each class, at least two; found {len(classes)}"
    if train is not None and not classes:
        return f"{told}; if {train.name!r} is itself a class, rename it"
    if len(classes) == 1 and (inner := len(data_folders(classes[0]))) > 1:
        return f"{told}, {classes[0]}, which holds {inner} folders itself: give that one if they are the classes"
    return told
