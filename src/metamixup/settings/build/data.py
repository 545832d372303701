"""The data of a run: what is loaded, how it is split, and labels that are spoiled on purpose."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from metamixup import data
from metamixup.data import DataSet, Split
from metamixup.data.corrupt import confuse_by_image, confuse_pairs, long_tail, replace_labels, swap_neighbours
from metamixup.data.folder.workers import Progress
from metamixup.data.relabel import UNCHANGED, corrected_test_labels, read_labels
from metamixup.data.subset import take_classes, take_selection, take_subset
from metamixup.data.vouched import with_vouched
from metamixup.data.whiten import scaled
from metamixup.errors import DataError, UserError
from metamixup.settings.code import find, is_code
from metamixup.settings.schema import CorruptSettings, Settings
from metamixup.settings.semi_supervised import SEMI_SUPERVISED


def build_data(settings: Settings, progress: Progress | None = None) -> DataSet:
    found = (
        own_data(settings.data)
        if is_code(settings.data)
        else data.load(settings.data, settings.data_dir, settings.image_size, progress)
    )
    found = _labelled(settings, found)
    if settings.classes is not None:
        found = take_classes(found, settings.classes, settings.seed)
    if settings.selection is not None:
        found = take_selection(found, settings.selection, settings.seed)
    found = found if settings.subset is None else take_subset(found, settings.subset, settings.seed)
    return scaled(found, settings.pixels)


def own_data(name: str) -> DataSet:
    """What a user's own `package.module:function` gives, called without arguments."""
    found = find("data", name)()
    if not isinstance(found, DataSet):
        raise UserError(
            f"data {name!r} gave a {type(found).__name__}, not a DataSet; metamixup.data.from_arrays makes one"
        )
    return found


def _labelled(settings: Settings, found: DataSet) -> DataSet:
    """With the labels that the user gave, and with the images that the user vouches for."""
    if settings.labels is not None:
        tested = corrected_test_labels(settings.labels, found)
        trained = replace(found.train, labels=_read(settings.labels, found))
        found = replace(found, train=trained, test=replace(found.test, labels=tested))
    if settings.corrupt.kind == "file":
        if settings.corrupt.file is None:
            raise UserError("corrupt.kind = 'file' needs the file of labels (--set corrupt.file=FILE)")
        people = data.by_name(settings.corrupt.file, settings.data_dir)
        found = replace(found, train=replace(found.train, others=_read(people, found)))
    if settings.meta.source == "none":
        return replace(found, vouched_for=None)
    return found if settings.meta.source is None else with_vouched(found, Path(settings.meta.source))


def _read(path: str, found: DataSet) -> Tensor:
    labels = read_labels(path, found)
    return torch.where(labels == UNCHANGED, found.train.labels, labels)


def corrupt(settings: CorruptSettings, found: DataSet, parts: Split, seed: int) -> tuple[DataSet, Split, Tensor]:
    """The data with wrong or rare training labels, and which of them are wrong, (N,). The meta set is left alone."""
    spared = torch.isin(parts.train, parts.meta)
    victims, labels = parts.train[~spared], found.train.labels.clone()
    wrong = torch.zeros(len(labels), dtype=torch.bool)
    if settings.kind == "long-tail":
        kept = victims[long_tail(labels[victims], found.num_classes, settings.ratio, seed)]
        train = torch.cat([parts.train[spared], kept]).sort().values
        return found, replace(parts, train=train), wrong
    if settings.kind != "none":
        labels[victims] = _spoiled(settings, found, victims, seed)
        wrong = labels != found.train.labels
    if settings.oracle == "right":
        return found, parts, torch.zeros_like(wrong)
    if settings.oracle == "left-out":
        parts, wrong = replace(parts, train=parts.train[~wrong[parts.train]]), torch.zeros_like(wrong)
    return replace(found, train=replace(found.train, labels=labels)), parts, wrong


def _spoiled(settings: CorruptSettings, found: DataSet, victims: Tensor, seed: int) -> Tensor:
    """The new labels of these training images."""
    labels, classes, share = found.train.labels[victims], found.num_classes, settings.share
    if settings.kind == "file":
        assert found.train.others is not None
        return found.train.others[victims]
    if settings.kind == "asymmetric":
        return confuse_pairs(labels, found.classes, share, seed)
    if settings.kind == "instance":
        return confuse_by_image(found.train.images[victims], labels, classes, share, seed)
    spoil = replace_labels if settings.kind == "replace" else swap_neighbours
    return spoil(labels, classes, share, seed)[0]


def few_labels(settings: Settings, found: DataSet) -> bool:
    """Is this semi-supervised learning: by a budget of labels, or by unlabelled images of the user's own?"""
    own = found.unlabelled is not None and settings.method in SEMI_SUPERVISED
    return own or settings.ssl.labels is not None


def build_split(settings: Settings, found: DataSet) -> Split:
    everything = torch.arange(len(found.train))
    if few_labels(settings, found) and settings.ssl.labels is None and settings.ssl.meta == "labelled":
        return Split(everything, everything[:0], everything)
    if settings.meta.source == "none" and settings.ssl.labels is None:
        return Split(everything, everything[:0], everything[:0])
    if found.vouched_for is not None and settings.ssl.labels is None:
        return _vouched_split(settings, found, found.vouched_for)
    try:
        return _divided(settings, found)
    except DataError as problem:
        if found.unlabelled is None:
            raise
        raise DataError(f"{problem}; {len(found.unlabelled)} images without a label lie there") from problem


def _vouched_split(settings: Settings, found: DataSet, vouched: Tensor) -> Split:
    if settings.meta.per_class is not None and settings.meta.source is None:
        raise UserError(f"{found.name} has a meta set of its own (meta/), so leave out meta.per_class")
    everything = torch.arange(len(found.train))
    train = everything if settings.meta.in_train else everything[~torch.isin(everything, vouched)]
    return Split(train, everything[:0], vouched)


def _divided(settings: Settings, found: DataSet) -> Split:
    return data.split(
        found.train.labels,
        found.num_classes,
        seed=settings.seed,
        labelled=settings.ssl.labels,
        meta_per_class=settings.meta.per_class or found.meta_per_class,
        meta=settings.ssl.meta,
        meta_in_train=settings.meta.in_train,
        classes=found.classes,
    )
