"""The images of a data set by the names that people and other programs give them."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from metamixup.data.folder.files import comparable
from metamixup.data.folder.layout import TRAIN
from metamixup.data.images import DataSet

Place = tuple[str, int]  # the part of the data that an image belongs to, and its position there


def names_of(found: DataSet) -> Sequence[str]:
    """Of the training images: their files, or `train/17`."""
    return found.train.names or [f"train/{k}" for k in range(len(found.train))]


class ImageNames:
    """Where images lie, by their path in the data folder, with it or without `train/`, by an absolute path or one that
    leads to the folder, with slashes of either kind and in any form of Unicode. Several images may have one
    name as far as can be shown."""

    def __init__(self, found: DataSet) -> None:
        named: list[tuple[str, Place]] = [(name, ("test", k)) for k, name in enumerate(found.test.names or ())]
        named += [(name, ("train", k)) for k, name in enumerate(names_of(found))]
        self.exact = _by_name(named)
        self.root = Path(found.name).absolute()
        first = names_of(found)[0].partition("/")[0]
        self.train = f"{first if first.lower() in TRAIN else TRAIN[0]}/"

    def find(self, name: str) -> list[Place]:
        """All images that may be meant: none, one, or several whose names look alike. Names as they stand come first:
        a class may be called like the folder itself."""
        return self._among(self.exact, name) or next(filter(None, map(self._alike, self._spellings(name))), [])

    def _alike(self, name: str) -> list[Place]:
        return self._among(self._comparable, name)

    def _among(self, known: dict[str, list[Place]], name: str) -> list[Place]:
        """With the folder of the training images, which may be called Training/, or without."""
        bare = name.removeprefix("train/")
        spellings = (name, self.train + name, bare, self.train + bare)
        return next((known[spelled] for spelled in spellings if spelled in known), [])

    @cached_property
    def _comparable(self) -> dict[str, list[Place]]:
        return _by_name((comparable(name), place) for name, places in self.exact.items() for place in places)

    def _spellings(self, name: str) -> Iterator[str]:
        """The path in the data folder that may be meant."""
        path = PurePosixPath(comparable(name.replace("\\", "/")))
        yield str(path)
        whole = PurePosixPath(os.path.abspath(path))
        for root in (self.root, self.root.resolve()):
            above = PurePosixPath(comparable(root.as_posix()))
            if whole.is_relative_to(above):
                yield str(whole.relative_to(above))
            # As it was written in another working directory, from which the folder's path began later.
            for count in range(1, len(path.parts)):
                if above.parts[-count:] == path.parts[:count]:
                    yield "/".join(path.parts[count:])


def _by_name(named: Iterable[tuple[str, Place]]) -> dict[str, list[Place]]:
    places = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return dict(places)
