"""From settings to objects: the only place where the two meet, and where models and data meet the rest."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from metamixup import __version__, data, models
from metamixup.data import DataSet, ImageSet, Split, Stream
from metamixup.data.corrupt import long_tail, replace_labels, swap_neighbours
from metamixup.data.fingerprint import fingerprint
from metamixup.data.folder.workers import Progress
from metamixup.data.splits import default_meta_per_class
from metamixup.data.stream import Normalise
from metamixup.data.subset import take_selection, take_subset
from metamixup.data.whiten import scaled
from metamixup.engine.evaluate import EvaluationSet
from metamixup.engine.growth import Growth, sized
from metamixup.engine.training import Training
from metamixup.errors import UserError
from metamixup.meta import MetaStage
from metamixup.methods.guess_study import GuessStudy
from metamixup.methods.method import Method
from metamixup.models.pretrained import adopt, freeze, read_weights
from metamixup.models.whitening import Whitening
from metamixup.seeding import derived_generator, derived_seed
from metamixup.settings.optimizers import build_average, build_lookahead, build_optimizer, build_schedule
from metamixup.settings.registry import make_estimator, make_policy, method_entry
from metamixup.settings.schema import CorruptSettings, Settings, StartSettings
from metamixup.settings.semi_supervised import SEMI_SUPERVISED

T = TypeVar("T")
EVALUATION_BATCH = 500
WHITENED = 5000  # training images whose patches a whitening layer sees
TRAIN_SAMPLE = 2000  # training images scored for `train_error`, of small sets a quarter


def build_training(settings: Settings, found: DataSet | None = None) -> Training:
    """All objects of a run. The same seed gives the same split, order of data and initial weights to any method.

    `found`: the settings' data set, where it has been loaded already.
    """
    method = made(lambda: method_entry(settings.method).make(settings))
    found = found or build_data(settings)
    check_method(settings, found, method)
    check_model(settings, found)
    stage = build_stage(settings, found)
    parts = build_split(settings, found)
    found, parts, wrong = corrupt(settings.corrupt, found, parts, settings.seed)
    train, meta, unlabelled = build_streams(settings, found, parts, method)
    steps_per_epoch = (unlabelled or train).steps_per_epoch
    steps = settings.epochs * steps_per_epoch
    model = build_model(settings, found)
    whiten_patches(model, found)
    prepare_start(settings.start, model)
    method.setup(model)
    return Training(
        model=model,
        method=method,
        stage=stage,
        optimizer=build_optimizer(settings.optimizer, model, method, settings.start.slow),
        schedule=build_schedule(settings.optimizer, steps, steps_per_epoch),
        train=train,
        num_classes=found.num_classes,
        epochs=settings.epochs,
        steps_per_epoch=steps_per_epoch,
        seed=settings.seed,
        meta=meta,
        unlabelled=unlabelled,
        evaluation=build_evaluation(settings, found, parts),
        study=GuessStudy(unlabelled.images.labels) if unlabelled is not None and method.unlabelled else None,
        wrong=wrong if bool(wrong.any()) else None,
        clip=settings.optimizer.clip,
        ema=build_average(settings.optimizer, model),
        slow=build_lookahead(settings.optimizer, model, steps),
        growth=Growth(tuple(settings.augment.grow), steps),
        smoothing=settings.label_smoothing,
        compile=settings.compile,
        evaluate_every=settings.evaluate_every,
        checkpoint_minutes=settings.checkpoint_minutes,
        split=vars(parts),
        fingerprint=fingerprint(found),
        about=_about(settings, found, parts),
    )


def check_method(settings: Settings, found: DataSet, method: Method) -> None:
    """Refuse a method that these settings and data cannot serve."""
    if method.unlabelled and not few_labels(settings, found):
        raise _no_unlabelled(settings)
    if method.unlabelled and settings.estimator.fraction < 1:
        raise UserError(f"estimator.fraction: {settings.method} counts guesses by the whole batch, so leave it at 1")


def check_model(settings: Settings, found: DataSet) -> None:
    """Refuse a model that cannot take the images in every size that they grow through."""
    channels, *size = found.shape
    growing = [sized(size, height) for height in settings.augment.grow]
    models.check(settings.model, found.num_classes, channels, (size[0], size[1]), growing)


def made(make: Callable[[], T]) -> T:
    """What `make` gives; a value that an object refuses is a user's mistake."""
    try:
        return make()
    except ValueError as error:
        raise UserError(str(error)) from error


def build_data(settings: Settings, progress: Progress | None = None) -> DataSet:
    found = data.load(settings.data, settings.data_dir, settings.image_size, progress)
    if settings.selection is not None:
        found = take_selection(found, settings.selection, settings.seed)
    found = found if settings.subset is None else take_subset(found, settings.subset, settings.seed)
    return scaled(found, settings.pixels)


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
        spoil = replace_labels if settings.kind == "replace" else swap_neighbours
        labels[victims], wrong[victims] = spoil(labels[victims], found.num_classes, settings.share, seed)
    return replace(found, train=ImageSet(found.train.images, labels)), parts, wrong


def build_model(settings: Settings, found: DataSet) -> nn.Module:
    """Initial weights are a function of the seed alone, so that methods can be compared from the same start."""
    return model_for(settings, found.num_classes, found.shape)


def model_for(settings: Settings, num_classes: int, shape: tuple[int, int, int]) -> nn.Module:
    channels, height, width = shape
    torch.manual_seed(derived_seed(settings.seed, "model"))
    return models.build(settings.model, num_classes, channels, (height, width))


def build_stage(settings: Settings, found: DataSet) -> MetaStage:
    policy = made(lambda: make_policy(settings, found.shape[1:]))
    estimator = made(lambda: make_estimator(settings.estimator, policy))
    how = settings.estimator
    return MetaStage(policy, estimator if policy.learned else None, how.every, how.fraction)


def few_labels(settings: Settings, found: DataSet) -> bool:
    """Is this semi-supervised learning: by a budget of labels, or by unlabelled images of the user's own?"""
    own = found.unlabelled is not None and settings.method.partition(":")[0] in SEMI_SUPERVISED
    return own or settings.ssl.labels is not None


def build_split(settings: Settings, found: DataSet) -> Split:
    if few_labels(settings, found) and settings.ssl.labels is None and settings.ssl.meta == "labelled":
        everything = torch.arange(len(found.train))
        return Split(everything, everything[:0], everything)
    per_class = settings.meta.per_class or found.meta_per_class
    return data.split(
        found.train.labels,
        found.num_classes,
        seed=settings.seed,
        labelled=settings.ssl.labels,
        meta_per_class=per_class or default_meta_per_class(len(found.train), found.num_classes),
        meta=settings.ssl.meta,
        meta_in_train=settings.meta.in_train,
        classes=found.classes,
    )


def build_streams(
    settings: Settings, found: DataSet, parts: Split, method: Method
) -> tuple[Stream, Stream, Stream | None]:
    """Training, meta and (for methods that read it) unlabelled batches."""
    seed, size = settings.seed, settings.batch_size
    chosen = settings.augment
    flip = found.flips if chosen.flip is None else chosen.flip
    augment = made(lambda: data.Augment(flip, chosen.shift, chosen.crop, chosen.noise, chosen.alternate))
    train = Stream(found.train, parts.train, size, seed, "train", augment, found.mean, found.std)
    meta = Stream(
        found.train, parts.meta, settings.meta.batch_size or size, seed, "meta", augment, found.mean, found.std
    )
    # With few labels an epoch is one pass over the unlabelled images for every method, so that all take as many steps.
    if not method.unlabelled and not few_labels(settings, found):
        return train, meta, None
    images, index = _unlabelled(settings, found, parts)
    many = settings.ssl.batch_size or size
    stream = Stream(images, index, many, seed, "unlabelled", augment, found.mean, found.std, method.views)
    return train, meta, stream


def _unlabelled(settings: Settings, found: DataSet, parts: Split) -> tuple[ImageSet, Tensor]:
    if found.unlabelled is not None:
        return found.unlabelled, torch.arange(len(found.unlabelled))
    if not len(parts.unlabelled):
        raise _no_unlabelled(settings)
    return found.train, parts.unlabelled


def _no_unlabelled(settings: Settings) -> UserError:
    return UserError(
        f"method {settings.method!r} needs unlabelled images and {settings.data} has none left; "
        "say how many labels to keep (--set ssl.labels=1000), or put images into a folder unlabelled/"
    )


def build_evaluation(settings: Settings, found: DataSet, parts: Split) -> tuple[EvaluationSet, ...]:
    order = torch.randperm(len(parts.train), generator=derived_generator(settings.seed, "train sample"))
    size = min(TRAIN_SAMPLE, max(1, len(parts.train) // 4))
    sample = parts.train[order[:size]].sort().values
    return (
        evaluation_set("train", found, found.train, sample),
        evaluation_set("meta", found, found.train, parts.meta),
        *([whole_set("selection", found, found.selection)] if found.selection is not None else []),
        test_set(settings, found),
    )


def test_set(settings: Settings, found: DataSet) -> EvaluationSet:
    return replace(whole_set("test", found, found.test), views=settings.test_views)


def whole_set(name: str, found: DataSet, images: ImageSet) -> EvaluationSet:
    return evaluation_set(name, found, images, torch.arange(len(images)))


def evaluation_set(name: str, found: DataSet, images: ImageSet, index: Tensor) -> EvaluationSet:
    normalise = Normalise(found.mean, found.std, images.images)

    def batches(rank: int = 0, world: int = 1) -> Iterator[tuple[Tensor, Tensor]]:
        parts = index.split(EVALUATION_BATCH)
        for part in parts[len(parts) * rank // world : len(parts) * (rank + 1) // world]:
            yield normalise(images.images[part]), images.labels[part]

    return EvaluationSet(name, batches)


def whiten_patches(model: nn.Module, found: DataSet) -> None:
    """A whitening layer looks at training images once, evenly spread; their labels play no part."""
    for layer in model.modules():
        if isinstance(layer, Whitening):
            seen = torch.linspace(0, len(found.train) - 1, min(len(found.train), WHITENED)).long()
            images = found.train.images[seen]
            layer.fit(Normalise(found.mean, found.std, images)(images))


def prepare_start(settings: StartSettings, model: nn.Module) -> None:
    """Weights that the user brings, and layers that stand still."""
    if settings.weights is not None:
        adopt(model, read_weights(settings.weights), settings.new_head)
    freeze(model, settings.freeze)
    if not any(p.requires_grad for p in model.parameters()):
        raise UserError("every layer is frozen (start.freeze), so there is nothing to train; leave out the last one")


def _about(settings: Settings, found: DataSet, parts: Split) -> dict[str, Any]:
    names = {key: getattr(settings, key) for key in ("data", "model", "method", "seed", "threads", "precision")}
    unlabelled = len(parts.unlabelled if found.unlabelled is None else found.unlabelled)
    sizes = {"train": len(parts.train), "unlabelled": unlabelled, "meta": len(parts.meta)}
    return {
        **names,
        "classes": list(found.classes),
        "input": {
            **{"shape": list(found.shape), "mean": list(found.mean), "std": list(found.std)},
            **{"bytes": found.train.images.dtype == torch.uint8, "whitened": found.whiten is not None},
        },
        "images": {**sizes, "test": len(found.test)},
        "labels": len(torch.cat([parts.train, parts.meta]).unique()),
        "version": __version__,
    }
