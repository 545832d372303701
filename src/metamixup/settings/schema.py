"""The settings of a run: sections of plain values, checked when they are made. Unknown keys suggest the nearest."""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metamixup.errors import UserError, unknown

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class OptimizerSettings(Section):
    """How weights are moved. `milestones` are shares of the run; `clip` bounds the gradient's norm; `ema` is the decay
    of averaged weights that are evaluated in place of the trained ones; with `lookahead` the trained ones jump to their
    average on every so many steps; `norm_bias` is a factor on the learning rate of BatchNorm's biases."""

    name: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: Positive = 0.1
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    nesterov: bool = False
    weight_decay: NotNegative = 1e-4
    schedule: Literal["cosine", "triangular", "step", "constant"] = "cosine"
    milestones: list[Share] = [0.3, 0.6, 0.9]
    gamma: Annotated[float, Field(gt=0, le=1)] = 0.1
    warmup_epochs: NotNegative = 0.0
    clip: Positive | None = None
    ema: Annotated[float, Field(ge=0, lt=1)] | None = None
    lookahead: Count | None = None
    norm_bias: Positive = 1.0


class PolicySettings(Section):
    """Where λ comes from. `lam` is fixed's, `alpha` and `per` are Beta's (and of the first λ of a learned policy);
    `memory` is the rate of trust's running scores, `settle` the share of its peak below which the learning rate thins
    its blends out (0: never); `granularity`, `rate`, `pull` and `one_step` are persistent's;
    `replay` is the run folder whose final policy the control of that name serves."""

    name: str = "trust"
    lam: Share = 0.5
    alpha: Positive = 1.0
    per: Literal["sample", "batch"] = "sample"
    step_size: NotNegative = 1.0
    projection: Literal["paper", "clip", "logit"] = "logit"
    normalise: bool = True
    memory: Annotated[float, Field(gt=0, le=1)] = 0.3
    settle: Share = 0.5
    granularity: Literal["data", "same-class", "class-pair"] = "class-pair"
    rate: Positive = 0.05
    pull: NotNegative = 0.5
    one_step: bool = False
    replay: str | None = None


class EstimatorSettings(Section):
    """How ∇λ is found, how often (on every `every`-th step) and from which `fraction` of the batch. `layers` restricts
    exact to the modules of these names; `memory` is head's."""

    name: str = "head"
    every: Count = 1
    fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    memory: Annotated[float, Field(ge=0, lt=1)] = 0.9
    layers: list[str] = []
    lookahead: bool = True


class StartSettings(Section):
    """Fine-tuning. weights: a safetensors file or a run folder; freeze: layers that stand still; slow: factor on the
    learning rate of all layers before the head; new_head: start that afresh even where it would fit."""

    weights: str | None = None
    freeze: list[str] = []
    slow: NotNegative = 1.0
    new_head: bool = False


class AugmentSettings(Section):
    """flip left out: as the data set allows; alternate: each image in every other epoch. shift reflects at the border,
    crop fills with zeros, both in pixels. grow: the heights that training images have in equal parts of the run."""

    flip: bool | None = None
    alternate: bool = False
    shift: Annotated[int, Field(ge=0)] = 0
    crop: Annotated[int, Field(ge=0)] = 0
    noise: NotNegative = 0.0
    grow: list[Count] = []


class MetaSettings(Section):
    """The meta set. per_class left out: 10 % of the training images, 10 to 100 a class; batch_size: the run's own.
    in_train: are its images trained on too?"""

    per_class: Count | None = None
    in_train: bool = False
    batch_size: Count | None = None


class CorruptSettings(Section):
    """Labels made wrong or rare on purpose, to see who bears it; the meta set stays clean and balanced.

    replace: a share of the labels becomes another class at random; neighbours: the next class; long-tail: class c keeps
    its share ratio^(−c/(C−1)).
    """

    kind: Literal["none", "replace", "neighbours", "long-tail"] = "none"
    share: Share = 0.0
    ratio: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 50.0


class SslSettings(Section):
    """Few labels. labels left out: all are used. meta: the labelled set serves as the meta set, or `extra` images.

    batch_size: of the unlabelled images. sigma, sigma_drop, sigma_every: σ_0, σ_d and K of pseudo-labels.
    weight: of the unlabelled loss, ramped up over a share of the run (or, above 1, a number of steps). ema: a teacher's
    decay. temperature, augmentations: MixMatch's T and K. epsilon, xi, iterations: VAT's. entropy: its EM's weight.
    """

    labels: Count | None = None
    meta: Literal["labelled", "extra"] = "labelled"
    batch_size: Count | None = None
    sigma: Annotated[float, Field(gt=0, le=1)] = 0.95
    sigma_drop: NotNegative = 0.05
    sigma_every: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 30
    weight: NotNegative = 1.0
    ramp: Literal["none", "linear", "exponential"] = "none"
    ramp_over: NotNegative = 0.4
    ema: Annotated[float, Field(ge=0, lt=1)] = 0.999
    ema_warmup: bool = True
    temperature: Positive = 0.5
    augmentations: Count = 2
    epsilon: Positive = 6.0
    xi: Positive = 1e-3
    iterations: Count = 1
    entropy: NotNegative = 0.0


class Settings(Section):
    data: str = "digits"
    data_dir: str | None = None
    image_size: Count | None = None
    pixels: Literal["standard", "symmetric", "zca"] = "standard"
    subset: Count | None = None
    selection: Count | None = None
    model: str = "cnn3"
    method: str = "metamixup"
    epochs: Count = 30
    batch_size: Count = 128
    seed: Annotated[int, Field(ge=0)] = 0
    threads: Count = 1
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["32", "64", "bf16-mixed", "16-mixed"] = "32"
    compile: bool = False
    label_smoothing: Share = 0.0
    test_views: Literal["plain", "flip", "shift", "flip+shift"] = "plain"
    evaluate_every: Count = 1
    checkpoint_minutes: Positive = 5.0
    optimizer: OptimizerSettings = OptimizerSettings()
    policy: PolicySettings = PolicySettings()
    estimator: EstimatorSettings = EstimatorSettings()
    augment: AugmentSettings = AugmentSettings()
    start: StartSettings = StartSettings()
    meta: MetaSettings = MetaSettings()
    corrupt: CorruptSettings = CorruptSettings()
    ssl: SslSettings = SslSettings()


def check(values: dict[str, Any], where: str = "settings") -> Settings:
    """Settings from nested values; the first mistake is told as where it is and what is allowed."""
    for key in flat(values):
        if key not in known_keys() and key not in Settings.model_fields:
            raise UserError(f"{where}: {unknown('setting', key, known_keys())}")
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise _told(error, where) from error


@cache
def known_keys() -> tuple[str, ...]:
    """Every setting by its dotted name."""
    return tuple(flat(Settings().model_dump()))


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"policy": {"lam": 0.5}} → {"policy.lam": 0.5}"""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """{"policy.lam": 0.5} → {"policy": {"lam": 0.5}}"""
    found: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise UserError(f"setting {key!r}: {section!r} is a value, not a section")
        place[last] = value
    return found


def _told(error: ValidationError, where: str) -> UserError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    return UserError(f"{where}: {key} = {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}")
