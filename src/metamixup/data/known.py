"""The data sets that are known by name, and the way from a name or path to a `DataSet`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metamixup.data import embedded, idx
from metamixup.data.images import DataSet
from metamixup.data.places import find
from metamixup.errors import DataError, unknown

DIGITS = tuple("0123456789")
CLOTHES = (
    *("T-shirt/top", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)


@dataclass(frozen=True)
class Known:
    """A named data set: how it is loaded, and what `metamixup data ls` tells about it."""

    load: Callable[[str | Path | None], DataSet]


def _mnist(data_dir: str | Path | None) -> DataSet:
    folder = find("mnist", data_dir, ("mnist", "MNIST/raw"), idx.has_idx)
    train, test = idx.read_pair(folder, "train"), idx.read_pair(folder, "t10k")
    return DataSet("mnist", train, test, DIGITS, mean=(0.1307,), std=(0.3081,), flips=False)


def _fashion(data_dir: str | Path | None) -> DataSet:
    folder = find("fashion", data_dir, ("fashion-mnist", "fashion", "FashionMNIST/raw"), idx.has_idx)
    train, test = idx.read_pair(folder, "train"), idx.read_pair(folder, "t10k")
    return DataSet("fashion", train, test, CLOTHES, mean=(0.2860,), std=(0.3530,))


KNOWN = {
    "digits": Known(lambda data_dir: embedded.load_digits()),
    "mnist": Known(_mnist),
    "fashion": Known(_fashion),
}


def known_data() -> list[str]:
    return list(KNOWN)


def load(name: str | Path, data_dir: str | Path | None = None, image_size: int | None = None) -> DataSet:
    """The data set of that name, or at that path."""
    if str(name) in KNOWN:
        return KNOWN[str(name)].load(data_dir)
    if Path(name).exists():
        raise DataError(f"{name}: not a data set")
    raise unknown("data set", str(name), known_data())
