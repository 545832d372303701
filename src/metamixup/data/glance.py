"""What defaults for a user's own images are chosen by, found without decoding a folder."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from metamixup.data.folder.folder import image_shape, parts_of
from metamixup.data.folder.tree import scan
from metamixup.data.known import known_data, load
from metamixup.data.read_once import Key, keep, key_of
from metamixup.errors import UserError


@dataclass(frozen=True)
class Glance:
    """images: in the training set; shape: (C, H, W) of one image; vouched: are there images in meta/?"""

    images: int
    classes: int
    shape: tuple[int, int, int]
    vouched: bool = False


def glance(name: str, image_size: int | None = None) -> Glance | None:
    """The facts of a user's own folder, file or `hub:NAME`.

    None for the data sets that have a name, and for data that cannot be read: loading it tells what is wrong.
    """
    if name in known_data():
        return None
    try:
        folder = Path(name).expanduser()
        return _folder(folder, image_size) if folder.is_dir() else _whole(key_of(name, image_size))
    except (UserError, OSError, RuntimeError, ValueError):  # a path may be too long, or hold what no path can
        return None


def _folder(root: Path, image_size: int | None) -> Glance:
    tree = scan(root)
    train, test = parts_of(tree)
    files = (*train, *test, *tree.unlabelled)
    return Glance(len(train), len(tree.classes), image_shape(files, image_size), bool(tree.meta))


@lru_cache(16)
def _whole(key: Key) -> Glance:
    name, image_size, *_ = key
    found = load(name, None, image_size)
    keep(key, found)
    return Glance(len(found.train), found.num_classes, found.shape)
