"""All objects of a run, put together."""

from typing import Any

import torch

from metamixup import __version__
from metamixup.data import DataSet, Split
from metamixup.data.fingerprint import fingerprint
from metamixup.data.stream import Normalise
from metamixup.engine.growth import Growth
from metamixup.engine.training import Training
from metamixup.errors import UserError
from metamixup.methods.guess_study import GuessStudy
from metamixup.methods.method import Method
from metamixup.models.whitening import whiten_patches
from metamixup.settings.build.data import build_data, build_split, corrupt, few_labels
from metamixup.settings.build.evaluation import build_evaluation
from metamixup.settings.build.model import build_model, check_model, prepare_start
from metamixup.settings.build.optimizer import build_average, build_lookahead, build_optimizer, build_schedule
from metamixup.settings.build.policy import build_stage
from metamixup.settings.build.refused import built
from metamixup.settings.build.streams import build_streams, no_unlabelled
from metamixup.settings.methods import method_entry
from metamixup.settings.schema import Settings


def build_training(settings: Settings, found: DataSet | None = None) -> Training:
    """All objects of a run. The same seed gives the same split, order of data and initial weights to any method.

    `found`: the settings' data set, where it has been loaded already.
    """
    method = built(lambda: method_entry(settings.method).make(settings))
    found = found or build_data(settings)
    check_method(settings, found, method)
    check_model(settings, found)
    parts = build_split(settings, found)
    found, parts, wrong = corrupt(settings.corrupt, found, parts, settings.seed)
    train, meta, unlabelled = build_streams(settings, found, parts, method)
    steps_per_epoch = (unlabelled or train).steps_per_epoch
    steps = settings.epochs * steps_per_epoch
    stage = build_stage(settings, steps=steps, steps_per_epoch=steps_per_epoch)
    if meta is None and stage.learned and stage.needs_meta:
        raise UserError(f"policy {settings.policy.name!r} learns from a meta set, so meta.source cannot be 'none'")
    model = build_model(settings, found)
    whiten_patches(model, found.train.images, Normalise(found.mean, found.std, found.train.images))
    prepare_start(settings.start, model)
    method.count(found.train.labels[parts.train].bincount(minlength=found.num_classes))
    method.setup(model)
    return Training(
        model=model,
        method=method,
        stage=stage,
        optimizer=build_optimizer(settings.optimizer, model, method, settings.start.slow),
        schedule=build_schedule(settings.optimizer, steps, steps_per_epoch, steps - method.tuned_from(steps)),
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
        raise no_unlabelled(settings, found)
    if method.unlabelled and settings.estimator.fraction < 1:
        raise UserError(f"estimator.fraction: {settings.method} counts guesses by the whole batch, so leave it at 1")


def _about(settings: Settings, found: DataSet, parts: Split) -> dict[str, Any]:
    names = {key: getattr(settings, key) for key in ("data", "model", "seed", "threads", "precision")}
    unlabelled = len(parts.unlabelled if found.unlabelled is None else found.unlabelled)
    sizes = {"train": len(parts.train), "unlabelled": unlabelled, "meta": len(parts.meta)}
    return {
        **names,
        **{"method": settings.full_method, "control": settings.control},
        "classes": list(found.classes),
        "input": {
            **{"shape": list(found.shape), "mean": list(found.mean), "std": list(found.std)},
            **{"bytes": found.train.images.dtype == torch.uint8, "whitened": found.whiten is not None},
        },
        "images": {**sizes, "test": len(found.test)},
        "labels": len(torch.cat([parts.train, parts.meta]).unique()),
        "version": __version__,
    }
