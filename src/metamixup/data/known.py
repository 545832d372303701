"""The data sets that are known by name, and the way from a name or path to a `DataSet`."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from metamixup.data.folder.folder import load_folder
from metamixup.data.folder.workers import Progress
from metamixup.data.formats import cifar, idx, svhn
from metamixup.data.formats.embedded import load_digits
from metamixup.data.formats.hub import load_hub, load_parquet
from metamixup.data.formats.npz import load_npz
from metamixup.data.images import DataSet
from metamixup.data.read_once import handed_over, key_of
from metamixup.data.relabel import label_archive
from metamixup.errors import DataError, UserError, unknown

VARIABLE = "METAMIXUP_DATA"
DEBIAN = Path("/usr/share/datasets")
Folder = str | Path | None
IMAGENET_SIZE = 100
FILES = {".npz": load_npz, ".mat": svhn.load_file, ".parquet": load_parquet}


@dataclass(frozen=True)
class Known:
    """A named data set: where its files are looked for, how they are read, and what `metamixup data ls` tells."""

    read: Callable[[Path], DataSet]
    fits: Callable[[Path], bool]
    folders: tuple[str, ...]
    what: str
    licence: str
    pickled: tuple[str, ...] = ()

    def located(self, name: str, data_dir: Folder) -> Path:
        """The folder that holds its files."""
        try:
            return _find(name, data_dir, self.folders, self.fits)
        except DataError:
            _refuse_pickles(data_dir, self.pickled)
            raise


def data_folders(data_dir: Folder) -> list[Path]:
    """The given folder, then $METAMIXUP_DATA, then where Debian's data-set packages put their files."""
    named = [data_dir, os.environ.get(VARIABLE)]
    return [*(Path(folder).expanduser() for folder in named if folder), DEBIAN]


def by_name(file: str, data_dir: Folder) -> str:
    """The path of a file of labels, which may lie in a data folder."""
    archive, _ = label_archive(file)
    folders = (folder for folder in data_folders(data_dir) if (folder / archive).is_file())
    return file if archive.is_file() else str(next(folders, Path()) / file)


def _find(name: str, data_dir: Folder, subfolders: tuple[str, ...], fits: Callable[[Path], bool]) -> Path:
    """The first folder (one of `subfolders`, or the data folder itself) whose content `fits`."""
    if data_dir is not None and not Path(data_dir).expanduser().is_dir():
        raise DataError(f"--data-dir {data_dir}: no such folder")
    folders = data_folders(data_dir)
    for folder in folders:
        # The data folder itself counts only where it was named: Debian's holds many data sets.
        for candidate in [folder / sub for sub in subfolders] + [folder] * (folder != DEBIAN):
            if candidate.is_dir() and fits(candidate):
                return candidate
    looked = ", ".join(str(folder / subfolders[0]) for folder in folders)
    raise DataError(f"{name}: its files were not found (looked in {looked}); give --data-dir or set ${VARIABLE}")


def _refuse_pickles(data_dir: Folder, names: tuple[str, ...]) -> None:
    """Where only the pickled version of a data set is found, say why it is not read."""
    for path in (folder / name for folder in data_folders(data_dir) for name in names):
        if path.exists():
            raise DataError(
                f"{path}: this is the pickled version, and reading a pickle runs any code it holds; "
                "take the binary version from the same page"
            )


def _cifar(layout: cifar.Layout, what: str) -> Known:
    fits, folders = partial(cifar.has_cifar, layout), (layout.folder, layout.name)
    return Known(partial(cifar.read_cifar, layout), fits, folders, what, "not stated", layout.pickled)


def _has_train(folder: Path) -> bool:
    return (folder / "train").is_dir()


def _imagenet(folder: Path, image_size: int = IMAGENET_SIZE, progress: Progress | None = None) -> DataSet:
    return load_folder(folder, image_size, "imagenet", progress)


KNOWN = {
    "mnist": Known(idx.load_mnist, idx.has_idx, ("mnist", "MNIST/raw"), "70,000 digits, 28×28", "CC BY-SA 3.0"),
    "fashion": Known(
        *(idx.load_fashion, idx.has_idx, ("fashion-mnist", "fashion", "FashionMNIST/raw")),
        *("70,000 pieces of clothing, 28×28", "MIT"),
    ),
    "svhn": Known(
        *(svhn.load_svhn, svhn.has_svhn, ("svhn", "SVHN")),
        *("99,289 house numbers, 32×32, colour", "non-commercial use"),
    ),
    "cifar10": _cifar(cifar.CIFAR10, "60,000 photos, 32×32, colour, 10 classes"),
    "cifar100": _cifar(cifar.cifar100(), "60,000 photos, 32×32, colour, 100 classes"),
    "cifar100-coarse": _cifar(cifar.cifar100("coarse"), "CIFAR-100 by its 20 superclasses"),
    "imagenet": Known(
        *(_imagenet, _has_train, ("imagenet", "ILSVRC2012")),
        *("1.28 million photos, cropped to 100×100, 1,000 classes", "non-commercial research"),
    ),
}


def known_data() -> list[str]:
    return ["digits", *KNOWN]


def load(
    name: str | Path, data_dir: Folder = None, image_size: int | None = None, progress: Progress | None = None
) -> DataSet:
    """The data set of that name, `hub:NAME`, or the folder of images, .npz, .mat or .parquet file at that path.

    `image_size` scales and crops the images of folders and of the Hub; other data sets have a size of their own.
    `progress` hears how many images of how many of a folder have been decoded, which is done once.
    """
    text = str(name)
    if text.startswith("hub:"):
        read = handed_over(key_of(text, image_size))
        return read or load_hub(text.removeprefix("hub:"), image_size)
    if text == "imagenet":
        return _imagenet(KNOWN[text].located(text, data_dir), image_size or IMAGENET_SIZE, progress)
    if text not in known_data():
        return _load_path(text, image_size, progress)
    found = load_digits() if text == "digits" else KNOWN[text].read(KNOWN[text].located(text, data_dir))
    return _of_size(found, image_size)


def _load_path(text: str, image_size: int | None, progress: Progress | None) -> DataSet:
    path = Path(text).expanduser()
    if path.is_dir():
        return load_folder(path, image_size, progress=progress)
    if not path.exists():
        if "/" in text or path.suffix in FILES:
            raise DataError(f"{text}: no such file or folder")
        raise UserError(f"no folder or file of that name here, and {unknown('data set', text, known_data())}")
    if path.suffix not in FILES:
        raise DataError(f"{path}: not a data set: expected a folder of images or a file in {', '.join(FILES)}")
    return _of_size(handed_over(key_of(text, image_size)) or FILES[path.suffix](path), image_size)


def _of_size(found: DataSet, image_size: int | None) -> DataSet:
    if image_size is not None and found.shape[1:] != (image_size, image_size):
        height, width = found.shape[1:]
        raise UserError(
            f"{found.name} has images of {height}×{width}; image_size={image_size} is for folders of images"
        )
    return found
