"""The audit itself: from labelled images to the ranked list."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from metamixup import models
from metamixup.audit.cross_validation import Inputs, Plan, Predictions, out_of_sample
from metamixup.audit.duplicates import duplicates
from metamixup.audit.findings import Audit, Finding, counted
from metamixup.audit.images import Labelled
from metamixup.audit.judge import Judgement, judge
from metamixup.data.augment import Augment
from metamixup.data.stream import Normalise
from metamixup.errors import UserError
from metamixup.models.whitening import whiten_patches

MODEL = "cnn-bn"
FEWEST = 3  # images a class, for every fold to be trained on one
SURELY = 2.0  # standard deviations
STRANGE = 6.0  # times the median distance from its neighbours
HOW = "each image is judged by networks that were not trained on it"
BLIND = (
    "the networks recognise no more of these images than guessing would, so they tell nothing of the labels: "
    "more images of each class, or another --model, may help"
)


def audit_images(
    found: Labelled,
    plan: Plan | None = None,
    model: str = MODEL,
    seed: int = 0,
    heard: Callable[[float], None] = lambda share: None,
) -> Audit:
    """Train small networks on parts of the images, and judge every label by those that have not seen it."""
    plan = plan or fitting_plan(found)
    check(found)
    make, inputs = maker(found, model), inputs_of(found)
    check_network(make, inputs, model)
    seen = out_of_sample(make, inputs, found.labels, len(found.classes), plan, seed, heard)
    if not seen.log_p.isfinite().all():
        raise UserError(f"{model} diverged on these images; choose another --model, one with BatchNorm like {MODEL}")
    audit = listed(found, judge(seen, found.labels, seed), seen)
    return audit if recognises(seen.log_p, found.labels) else replace(audit, doubt=BLIND)


def fitting_plan(found: Labelled) -> Plan:
    """More folds where images are few: each network is then trained on more of them."""
    return Plan(folds=5 if len(found.labels) < 2000 else 3)


def check(found: Labelled) -> None:
    counts = found.labels.bincount(minlength=len(found.classes))
    if int(counts.min()) < FEWEST:
        name, images = found.classes[int(counts.argmin())], counted(int(counts.min()), "image", "images")
        raise UserError(f"class {name!r} has {images} that can be read; an audit needs {FEWEST} of each")


def check_network(make: Callable[[], nn.Module], inputs: Inputs, model: str) -> None:
    """Before minutes of training: can it look at such images?"""
    x = inputs(torch.arange(2), None)
    try:
        make().eval()(x)
    except RuntimeError as problem:
        size = "×".join(str(side) for side in x.shape[2:])
        raise UserError(
            f"{model} cannot look at images of {size} pixels ({problem}); choose another --image-size or --model"
        ) from problem


def recognises(log_p: Tensor, labels: Tensor) -> bool:
    """Do networks recognise more than guessing would, surely? Every class counts alike: one that is most of the images
    is guessed easily. log_p: (N, C); labels: (N,)."""
    counts, chance = labels.bincount(minlength=log_p.shape[1]), 1 / log_p.shape[1]
    right = labels[log_p.argmax(1) == labels].bincount(minlength=log_p.shape[1])
    deviation = float((chance * (1 - chance) / counts).sum().sqrt()) * chance
    return float((right / counts).mean()) > chance + SURELY * deviation


def maker(found: Labelled, model: str) -> Callable[[], nn.Module]:
    """Makes a new network by its name; of the images it knows their size, and how neighbouring pixels go together."""
    channels, *size = found.images.shape[1:]

    def make() -> nn.Module:
        network = models.build(model, len(found.classes), channels, (size[0], size[1]))
        whiten_patches(network, found.images, Normalise(found.mean, found.std, found.images))
        return network

    return make


def inputs_of(found: Labelled) -> Inputs:
    """Normalised; for training mirrored and shifted a little, where the images allow it."""
    normalise = Normalise(found.mean, found.std, found.images)
    augment = Augment(flip=found.flips, shift=found.images.shape[-1] // 16)

    def inputs(index: Tensor, random: torch.Generator | None) -> Tensor:
        images = found.images[index]
        return normalise(images if random is None else augment(images, random))

    return inputs


def listed(found: Labelled, judged: Judgement, seen: Predictions | None = None, how: str = HOW) -> Audit:
    """The list of a judgement, the most suspicious first; files that cannot be read at its end."""
    likely, given = judged.likely(found.labels).tolist(), found.labels.tolist()
    twins = dict(_with_twin(duplicates(found.images, found.labels)))
    strange = _strangers(judged, seen)
    findings = []
    for k, wrong in enumerate(judged.wrong.tolist()):
        names = found.names[k], found.classes[given[k]]
        if k in twins:
            note = found.names[twins[k]]
            findings.append(Finding(*names, found.classes[likely[k]], max(wrong, 0.5), "duplicate", k, note))
        elif k in strange:
            findings.append(Finding(*names, "", max(wrong, 0.5), "stranger", k))
        else:
            findings.append(Finding(*names, found.classes[likely[k]], wrong, "label", k))
    findings.sort(key=lambda finding: -finding.wrong)
    lost = [Finding(file, given, "", 0.0, "unreadable", note=problem) for file, given, problem in found.unreadable]
    low, high = judged.low, judged.high
    return Audit(found.name, len(found.labels), found.classes, judged.share, low, high, findings + lost, how)


def _with_twin(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [both for first, second in pairs for both in ((first, second), (second, first))]


def _strangers(judged: Judgement, seen: Predictions | None) -> set[int]:
    """Images that no class claims and that lie far from all others."""
    if seen is None:
        return set()
    unclaimed = seen.log_p.max(1).values < seen.log_p.max(1).values.quantile(0.1)
    return set((unclaimed & (seen.distance > STRANGE)).nonzero()[:, 0].tolist())
