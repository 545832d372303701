"""The data sets that are known by name, and the way from a name or path to a `DataSet`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metamixup.data import cifar, embedded, idx, svhn
from metamixup.data.folder import load_folder
from metamixup.data.images import DataSet
from metamixup.data.npz import load_npz
from metamixup.data.places import find
from metamixup.errors import DataError, unknown

Folder = str | Path | None
DIGITS = tuple("0123456789")
CLOTHES = (
    *("T-shirt/top", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)


@dataclass(frozen=True)
class Known:
    """A named data set: how it is loaded, and what `metamixup data ls` tells about it."""

    load: Callable[[Folder], DataSet]
    what: str
    licence: str


def _idx(
    name: str, folders: tuple[str, ...], classes: tuple[str, ...], mean: float, std: float, flips: bool
) -> Callable[[Folder], DataSet]:
    def load(data_dir: Folder) -> DataSet:
        folder = find(name, data_dir, folders, idx.has_idx)
        train, test = idx.read_pair(folder, "train"), idx.read_pair(folder, "t10k")
        return DataSet(name, train, test, classes, mean=(mean,), std=(std,), flips=flips)

    return load


def _cifar(layout: cifar.Layout) -> Callable[[Folder], DataSet]:
    return lambda data_dir: cifar.load_cifar(layout, data_dir)


KNOWN = {
    "digits": Known(lambda data_dir: embedded.load_digits(), "1,797 digits, 8×8, embedded", "CC BY 4.0"),
    "mnist": Known(
        _idx("mnist", ("mnist", "MNIST/raw"), DIGITS, 0.1307, 0.3081, False), "70,000 digits, 28×28", "CC BY-SA 3.0"
    ),
    "fashion": Known(
        _idx("fashion", ("fashion-mnist", "fashion", "FashionMNIST/raw"), CLOTHES, 0.2860, 0.3530, True),
        "70,000 clothes, 28×28",
        "MIT",
    ),
    "svhn": Known(svhn.load_svhn, "99,289 house numbers, 32×32 colour", "non-commercial use"),
    "cifar10": Known(_cifar(cifar.CIFAR10), "60,000 photos, 32×32 colour, 10 classes", "not stated"),
    "cifar100": Known(_cifar(cifar.cifar100()), "60,000 photos, 32×32 colour, 100 classes", "not stated"),
    "cifar100-coarse": Known(_cifar(cifar.cifar100("coarse")), "CIFAR-100 by its 20 superclasses", "not stated"),
}


def known_data() -> list[str]:
    return list(KNOWN)


def load(name: str | Path, data_dir: Folder = None, image_size: int | None = None) -> DataSet:
    """The data set of that name, or at that path."""
    if str(name) in KNOWN:
        return KNOWN[str(name)].load(data_dir)
    if (path := Path(name)).exists():
        return _load_path(path, image_size)
    raise unknown("data set", str(name), known_data())


def _load_path(path: Path, image_size: int | None) -> DataSet:
    if path.is_dir():
        return load_folder(path, image_size)
    if path.suffix == ".npz":
        return load_npz(path)
    if path.suffix == ".mat":
        return svhn.load_file(path)
    raise DataError(f"{path}: not a data set: expected a folder of images or an .npz or .mat file")
