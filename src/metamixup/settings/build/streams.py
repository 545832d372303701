"""The batches of a run: labelled, meta and unlabelled images in their order, augmented."""

import torch
from torch import Tensor

from metamixup import data
from metamixup.data import DataSet, ImageSet, Split, Stream
from metamixup.data.stream import After, Order, balanced, shuffled
from metamixup.errors import UserError
from metamixup.methods.method import Method
from metamixup.settings.build.data import few_labels
from metamixup.settings.build.refused import built
from metamixup.settings.schema import Settings


def build_streams(
    settings: Settings, found: DataSet, parts: Split, method: Method
) -> tuple[Stream, Stream | None, Stream | None]:
    """Training, meta (where there is a meta set) and (for methods that read it) unlabelled batches."""
    seed, size = settings.seed, settings.batch_size
    chosen = settings.augment
    flip = found.flips if chosen.flip is None else chosen.flip
    augment = built(lambda: data.Augment(flip, chosen.shift, chosen.crop, chosen.noise, chosen.alternate))
    looks = (augment, found.mean, found.std)
    meta = None
    if len(parts.meta):
        meta = Stream(found.train, parts.meta, settings.meta.batch_size or size, seed, "meta", *looks)
    order = balanced(found.train.labels) if settings.sampling == "balanced" else shuffled
    train = Stream(found.train, parts.train, size, seed, "train", *looks, order=order)
    unlabelled = None
    # With few labels an epoch is one pass over the unlabelled images for every method, so that all take as many steps.
    if method.unlabelled or few_labels(settings, found):
        images, index = _unlabelled(settings, found, parts)
        many = settings.ssl.batch_size or size
        unlabelled = Stream(images, index, many, seed, "unlabelled", *looks, method.views)
    if method.tuned:
        index, order = _tuned_on(settings, found, parts, method)
        since = method.tuned_from(settings.epochs * (unlabelled or train).steps_per_epoch)
        train = After(train, Stream(found.train, index, size, seed, "tuning", *looks, order=order), since)
    return train, meta, unlabelled


def _tuned_on(settings: Settings, found: DataSet, parts: Split, method: Method) -> tuple[Tensor, Order]:
    """The images that the classifier alone is trained on at the end, and their order."""
    if method.tuned_on == "balanced":
        return parts.train, balanced(found.train.labels)
    if not len(parts.meta):
        raise UserError(f"method {settings.method!r} ends on the meta images, so meta.source cannot be 'none'")
    return parts.meta, shuffled


def _unlabelled(settings: Settings, found: DataSet, parts: Split) -> tuple[ImageSet, Tensor]:
    if found.unlabelled is not None:
        return found.unlabelled, torch.arange(len(found.unlabelled))
    if not len(parts.unlabelled):
        raise no_unlabelled(settings, found)
    return found.train, parts.unlabelled


def no_unlabelled(settings: Settings, found: DataSet) -> UserError:
    counts = found.train.labels.bincount(minlength=found.num_classes)
    some = min(1000, found.num_classes * max(1, int(counts.min()) // 2))
    return UserError(
        f"method {settings.method!r} needs unlabelled images and {settings.data} has none left; "
        f"say how many labels to keep (--set ssl.labels={some}), or put images into a folder unlabelled/"
    )
