"""What a person should know of the data before a run begins, a sentence each."""

import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from torch import Tensor

from metamixup.data import DataSet, known_data
from metamixup.data.check import copies
from metamixup.data.folder.files import kinds_of, readable
from metamixup.data.folder.tree import inner_folders, left_out, of_no_class, scan
from metamixup.engine.training import Training
from metamixup.settings.code import is_code
from metamixup.settings.schema import Settings

NAMED = 5  # classes of one sentence


def told_before(settings: Settings, training: Training, found: DataSet) -> Iterator[str]:
    root, budget, labels = Path(settings.data), settings.ssl.labels, training.about["labels"]
    if settings.data in known_data() and root.is_dir():
        yield f"{settings.data!r} is the data set of that name (metamixup data ls); the folder here is --data ./{root}"
    if root.is_absolute() and root.is_dir():
        yield from _of_folder(root, found.classes)
    yield from _names_alike(found.classes)
    yield from _untested(found)
    if budget is not None and labels != budget:
        yield f"{labels} labels are used in all: {budget} and {labels - budget} more for the meta set"
    if training.stage.learned and training.meta is None:
        yield (
            "no clean images were given: labels are judged by the network's own predictions, as if most of each class "
            "were right; to vouch for some images of each class give --meta FOLDER"
        )


def _of_folder(root: Path, classes: tuple[str, ...]) -> Iterator[str]:
    if others := left_out(root):
        yield f"left out, since only JPEG, PNG and WebP are read: {kinds_of(others)} (as {others[0]})"
    if others := of_no_class(scan(root)):
        yield f"images that are not used, since they belong to no class or part: {len(others)} (as {others[0]})"
    if inner := inner_folders(root):
        above, first = inner[0].parent.parent, readable(f"{inner[0].parent.name}/{inner[0].name}")
        yield (
            f"the classes are {_named([repr(name) for name in classes])}; all their images lie in {len(inner)} folders "
            f"within them (as {first}): if those are the classes, move them up into {readable(str(above))}, in place "
            "of the folders that hold them"
        )


def told_twice(settings: Settings, training: Training, found: DataSet) -> Iterator[str]:
    """What the end of the run tells, too."""
    yield from _seen_before(settings, found)
    yield from _unused(settings, training, found)


def _unused(settings: Settings, training: Training, found: DataSet) -> Iterator[str]:
    """Unlabelled images of the user's own that the method does not read."""
    if found.unlabelled is not None and training.unlabelled is None:
        yield (
            f"images without labels that are not used: {len(found.unlabelled)}; {settings.full_method} learns from "
            "labels alone, other methods, as --method trustmix+apl, from both (metamixup ls methods)"
        )


def _seen_before(settings: Settings, found: DataSet) -> Iterator[str]:
    """Test images that are trained on, which flatter the error. Built-in sets are as everyone has them, and images that
    are not at hand would have to be decoded."""
    if settings.data in known_data() or not isinstance(found.train.images, Tensor):
        return
    pairs = copies(found)
    if pairs:
        of, (trained, tested) = f"{len(pairs)} of {len(found.test)} test images", pairs[0]
        listed = "" if is_code(settings.data) else f"; metamixup data check {shlex.quote(settings.data)} lists them"
        yield (
            f"{of} are copies of training images (as {tested} = {trained}), so the error looks lower than it is{listed}"
        )


def _names_alike(classes: tuple[str, ...]) -> Iterator[str]:
    """Single letters may well be told apart by their case."""
    words = sorted((name for name in classes if len(name) > 1), key=str.casefold)
    for _, alike in groupby(words, key=str.casefold):
        names = [repr(name) for name in alike]
        if len(names) > 1:
            yield f"{' and '.join(names)} are classes of their own, though only case tells them apart: are they one?"


def _untested(found: DataSet) -> Iterator[str]:
    tested = found.test.labels.bincount(minlength=found.num_classes)
    names = [repr(name) for name, count in zip(found.classes, tested.tolist(), strict=True) if not count]
    if names and len(found.test):
        yield (
            f"no test image of {_named(names)}: the error says nothing of so few images; "
            "give five or more of each class, or a folder test/"
        )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
