"""A data set from a folder of images by class, decoded once into a packed cache, or streamed where none fits."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path

import torch
from torch import Tensor

from metamixup.data.arrays import SPLIT_SEED, TEST_SHARE
from metamixup.data.folder.decode import probe, without_pillow_warnings
from metamixup.data.folder.files import ImageFile, files_fingerprint, readable
from metamixup.data.folder.packed import packed
from metamixup.data.folder.streamed import StreamedImages
from metamixup.data.folder.tree import Tree, scan
from metamixup.data.folder.workers import Progress
from metamixup.data.images import DataSet, ImageSet, may_flip, statistics
from metamixup.data.splits import stratified_test
from metamixup.errors import DataError

DEFAULT_SIZE = 64
LARGEST_NATIVE = 128
SMALLEST = 16  # enlarged to it: a shift by one pixel of eight is coarse, and few layers see so few pixels whole
PROBED = 64


def load_folder(
    root: Path, image_size: int | None = None, name: str | None = None, progress: Progress | None = None
) -> DataSet:
    """Images are scaled and cropped to a square of `image_size`.

    Without it they keep their size if all are squares of one size from 16 to 128, smaller ones become 16×16, all
    others 64×64. Images that are all grey have one channel.
    """
    tree = scan(root)
    train, test = parts_of(tree)
    files = [*train, *test, *tree.unlabelled]
    shape = image_shape(files, image_size)
    mark = files_fingerprint(root, files)
    paths = [file.path for file in files]
    images = packed(root, paths, mark, shape, progress)
    ends = [0, len(train), len(train) + len(test), len(files)]
    parts = [_part(root, images, files, shape, low, high) for low, high in pairwise(ends)]
    unlabelled = parts[2] if len(parts[2]) else None
    flips, measured = may_flip(tree.classes, shape[0]), statistics(parts[0].images)
    vouched = torch.arange(len(train) - len(tree.meta), len(train)) if tree.meta else None
    return DataSet(
        name or str(root), parts[0], parts[1], tree.classes, *measured, unlabelled, flips, vouched_for=vouched
    )


def _part(
    root: Path, images: Tensor | None, files: list[ImageFile], shape: tuple[int, int, int], low: int, high: int
) -> ImageSet:
    labels = torch.tensor([file.label for file in files[low:high]], dtype=torch.int64)
    names = tuple(readable(file.path.relative_to(root).as_posix()) for file in files[low:high])
    if images is not None:
        return ImageSet(images[low:high], labels, names)
    streamed = StreamedImages([file.path for file in files[low:high]], shape)
    return ImageSet(streamed, labels, names)  # type: ignore[arg-type]


def parts_of(tree: Tree) -> tuple[list[ImageFile], list[ImageFile]]:
    """(train, test), with the images of meta/ at the end of the training set; a folder without a test set gives up a
    fifth of every class, the same one each time."""
    if tree.test is not None:
        return [*tree.train, *tree.meta], tree.test
    labels = torch.tensor([file.label for file in tree.train])
    train, test = stratified_test(labels, len(tree.classes), TEST_SHARE, SPLIT_SEED, tree.classes)
    if not len(test):
        raise DataError(f"{tree.root}: one image a class leaves none for a test set; add images or a test/ folder")
    first, second = ([tree.train[position] for position in part.tolist()] for part in (train, test))
    return [*first, *tree.meta], second


def image_shape(files: Iterable[ImageFile], image_size: int | None) -> tuple[int, int, int]:
    """(C, H, W) from the headers of the files."""
    size = image_size
    colour, sides = _seen(tuple(files), image_size is not None)
    if size is None:
        native = next(iter(sides)) if len(sides) == 1 else DEFAULT_SIZE
        size = max(native, SMALLEST) if native <= LARGEST_NATIVE else DEFAULT_SIZE
    if not 1 <= size <= 4096:
        raise DataError(f"the image size lies between 1 and 4096 pixels, not {size}")
    return 3 if colour or not sides else 1, size, size


@lru_cache(4)  # a run asks before its settings are complete, and again when it loads the images
def _seen(files: tuple[ImageFile, ...], sized: bool) -> tuple[bool, frozenset[int]]:
    """Is there an image in colour, and how long are the sides? Read as far as it matters: one photo in colour or of
    another size, however late it comes, decides; of 50,000 alike headers take four seconds."""
    colour, sides = False, set[int]()
    first = files[:: -(-len(files) // PROBED)]  # where there are differences, a few from everywhere show them
    with without_pillow_warnings():
        for header in (probe(file.path) for file in chain(first, files)):
            if header is None:
                continue
            sides |= set(header[:2])
            colour |= not header[2]
            if colour and (sized or len(sides) > 1 or max(sides) > LARGEST_NATIVE):
                break
    return colour, frozenset(sides)
