"""Tasks drawn at random from a seed, so that nobody tunes to a dozen: half of them to choose on, half of them sealed.

A task is a data set, with all or some of its classes, a number of images, a network, a length, an optimizer, a
schedule, a batch size, a meta set or none and, in every second task, labels that are wrong or rare. Runs are short, 5
to 40 seconds of a core. The sealed half is run once, after the last choice.
"""

import math
import random
from typing import Any

from metamixup.tables.recipe import Column, Recipe, Row, Variant

# Each written down before anything of it was run. What has been opened is sealed no more: a new half takes its place.
SEEDS = {
    "gauntlet": 1701,
    "gauntlet-opened": 934065324,
    "gauntlet-opened-2": 886384124,
    "gauntlet-opened-3": 543419829,
    "gauntlet-opened-4": 601182756,
    "gauntlet-opened-5": 704641868,
    "gauntlet-opened-6": 770272187,
    "gauntlet-opened-7": 780461686,
    "gauntlet-opened-8": 569080192,
    "gauntlet-sealed": 204650557,
}
TASKS = 12  # with clean labels, and as many with imperfect ones
IMAGES = {"digits": 1297, "mnist": 58_000, "fashion": 58_000, "cifar10": 48_000}
# Images a second of a core, of networks narrow and wide; the last two are without BatchNorm.
PACES = {"preact-resnet8-tiny": 5000, "cnn-bn": 2200, "preact-resnet8-half": 2000, "cnn3": 1100, "mlp": 9000}
SECONDS = (5, 18)  # of training
STEPS = (200, 4000)
EVALUATION = 2
FEWEST = 300
SMALL = {"digits": 4}  # how many times faster its images are


def known_gauntlets() -> list[str]:
    return list(SEEDS)


def draw_recipe(name: str) -> Recipe:
    seed = SEEDS[name]
    columns = [draw_task(seed, kind, k) for kind in ("clean", "imperfect") for k in range(TASKS)]
    whole = Variant(unit="CPU s", seeds=2, base={"evaluate_every": 1000}, columns=tuple(columns))
    quick = Variant(unit="CPU s", seeds=1, base={"evaluate_every": 1000, "epochs": 1}, columns=tuple(columns))
    half = f"the {name.split('-')[1] if '-' in name else 'choosing'} half, seed {seed}"
    return Recipe(title=f"The gauntlet, {half}: test error (%)", rows=ROWS, full=whole, quick=quick)


ROWS = {
    "baseline": Row(label="Baseline"),
    "mixup-0.2": Row(method="mixup", label="MixUp, α = 0.2", settings={"policy": {"alpha": 0.2}}),
    "mixup": Row(label="MixUp, α = 1"),
    "mixup+settle": Row(label="MixUp that settles"),
    "trustmix": Row(label="TrustMix", controls=("reverse",), cost=1.15),
}


def draw_task(seed: int, kind: str, number: int) -> Column:
    """A pure function of its arguments."""
    drawn = random.Random(f"{seed}/{kind}/{number}")
    data = drawn.choice(["digits", "mnist", "fashion", "fashion", "cifar10", "cifar10", "cifar10"])
    classes = drawn.choice([None, None, drawn.randint(2, 8)])
    classes = classes and max(classes, math.ceil(FEWEST * 11 / IMAGES[data]))  # two digits are not images enough
    model = drawn.choice(list(PACES))
    seen = _between(drawn, *SECONDS) * PACES[model] * SMALL.get(data, 1)
    there_are = IMAGES[data] * (classes or 10) // 11  # classes are not of one size
    images = round(min(there_are, max(FEWEST, seen / _between(drawn, 2, 80))))
    epochs = min(80, max(2, round(seen / images)))
    settings: dict[str, Any] = {
        **{"classes": classes, "subset": images, "epochs": epochs, "batch_size": _batch_size(drawn, images * epochs)},
        "optimizer": _optimizer(drawn, model),
        "augment": {"flip": data in ("fashion", "cifar10") and drawn.random() < 0.5, "shift": 0, "crop": 0},
        "meta": _meta(drawn, images),
        **({"corrupt": _corruption(drawn)} if kind == "imperfect" else {}),
    }
    cost = images * epochs / PACES[model] / SMALL.get(data, 1) + EVALUATION
    return Column(data=data, model=model, name=f"{kind}-{number:02}-{data}-{images}", settings=settings, cost=cost)


def _between(drawn: random.Random, low: float, high: float) -> float:
    """Log-uniform."""
    return math.exp(drawn.uniform(math.log(low), math.log(high)))


def _batch_size(drawn: random.Random, seen: int) -> int:
    """16 to 256, but neither so large that a run has hardly a step nor so small that steps cost more than images."""
    fitting = [size for size in (16, 32, 64, 128, 256) if STEPS[0] <= seen / size <= STEPS[1]]
    return drawn.choice(fitting)


def _meta(drawn: random.Random, images: int) -> dict[str, Any]:
    per_class = min(drawn.choice([0, 2, 5, 10, 20, 50]), images // 30)
    return {"per_class": per_class, "in_train": True} if per_class else {"source": "none"}


def _optimizer(drawn: random.Random, model: str) -> dict[str, Any]:
    adam = drawn.random() < 1 / 3
    rate = 0.002 if adam else 0.03 if model in ("cnn3", "mlp") else 0.1
    return {
        "name": "adam" if adam else "sgd",
        "lr": rate * drawn.choice([0.5, 1.0]),
        "weight_decay": drawn.choice([0.0, 5e-4]),
        "schedule": drawn.choice(["cosine", "cosine", "step", "constant"]),
        "milestones": (0.5, 0.75),
        "warmup_epochs": 1.0 if model == "cnn3" else 0.0,  # without, one start in ten never leaves chance
    }


def _corruption(drawn: random.Random) -> dict[str, Any]:
    kind = drawn.choice(["replace", "neighbours", "long-tail"])
    if kind == "long-tail":
        return {"kind": kind, "ratio": drawn.choice([10.0, 50.0])}
    return {"kind": kind, "share": drawn.choice([0.1, 0.2, 0.4] if kind == "neighbours" else [0.1, 0.2, 0.4, 0.6])}
