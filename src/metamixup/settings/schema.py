"""The settings of a run: sections of plain values, checked when they are made. Unknown keys suggest the nearest."""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError, model_validator

from metamixup.errors import UserError, unknown
from metamixup.settings.choices import DEFAULTS, SECTIONS, EstimatorSettings, choice_keys
from metamixup.settings.code import is_code
from metamixup.settings.dotted import flat
from metamixup.settings.forms import DEFAULT
from metamixup.settings.section import Chosen, Section, not_applying

Share = Annotated[float, Field(ge=0, le=1)]
MOST = 1e30  # beyond, a 32-bit number may overflow
Positive = Annotated[float, Field(gt=0, le=MOST)]
NotNegative = Annotated[float, Field(ge=0, le=MOST)]


def _no_flag(value: Any) -> Any:
    """`epochs = true` would be one epoch."""
    if isinstance(value, bool):
        raise ValueError("a number is wanted, not true or false")
    return value


Count = Annotated[int, BeforeValidator(_no_flag), Field(ge=1, le=10**12)]


def _as_text(value: Any) -> Any:
    """`--set precision=64` is a number to TOML."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


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
    milestones: tuple[Share, ...] = (0.3, 0.6, 0.9)
    gamma: Annotated[float, Field(gt=0, le=1)] = 0.1
    warmup_epochs: NotNegative = 0.0
    clip: Positive | None = None
    ema: Annotated[float, Field(ge=0, lt=1)] | None = None
    lookahead: Count | None = None
    norm_bias: Positive = 1.0

    @model_validator(mode="after")
    def nesterov_has_momentum(self) -> "OptimizerSettings":
        if self.nesterov and self.name == "sgd" and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0")
        return self


class StartSettings(Section):
    """Fine-tuning. weights: a safetensors file or a run folder; freeze: layers that stand still; slow: factor on the
    learning rate of all layers before the head; new_head: start that afresh even where it would fit."""

    weights: str | None = None
    freeze: tuple[str, ...] = ()
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
    grow: tuple[Count, ...] = ()


class MetaSettings(Section):
    """The meta set: drawn from the training images, unless `source` names images that are vouched for (a folder by
    class, or a list of files) or is "none", as it is by default where nobody vouches for labels and the policy can do
    without. per_class left out: 10 % of the training images, 10 to 100 a class; in_train: are its images trained on
    too? batch_size: the run's own."""

    source: str | None = None
    per_class: Count | None = None
    in_train: bool = True
    batch_size: Count | None = None


class CorruptSettings(Section):
    """Labels made wrong or rare on purpose, to see who bears it; the meta set stays clean and balanced.

    replace: a share of the labels becomes another class at random; neighbours: the next class; asymmetric: the class
    that people take it for, of half of CIFAR-10's classes; instance: another class that depends on the image; file:
    labels that people gave (`file`, as for --labels); long-tail: class c keeps its share ratio^(−c/(C−1)).
    oracle: what would be if the wrong ones were known: they are left out, or right.
    """

    kind: Literal["none", "replace", "neighbours", "asymmetric", "instance", "file", "long-tail"] = "none"
    file: str | None = None
    oracle: Literal["none", "left-out", "right"] = "none"
    share: Share = 0.0
    ratio: Annotated[float, Field(ge=1)] = 50.0


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
    sigma_every: Annotated[float, Field(ge=1)] = 30
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


def _chosen(what: str) -> Callable[[Any], Any]:
    """The section that belongs to the name in it: a tagged union that others can add to."""

    def choose(value: Any) -> Any:
        return _section(what, value).model_validate(value) if isinstance(value, dict) else value

    return choose


def _section(what: str, value: dict[str, Any]) -> type[Chosen]:
    name = value.get("name", DEFAULTS[what])
    if not isinstance(name, str):
        raise UserError(f"{what}.name = {name!r}: a name is text")
    return SECTIONS[what][0](name)


class Settings(Section):
    """`classes`: how many of the data set's, drawn from the seed; `sampling`: every image once an epoch, or every class
    equally often; `control` turns a learned policy into one that shares all but what it learned; `replay` is the run
    folder whose final policy the control of that name serves; `labels` is a file of training labels in place of the
    data set's own.
    """

    data: str = "digits"
    data_dir: str | None = None
    image_size: Count | None = None
    pixels: Literal["standard", "symmetric", "zca"] = "standard"
    labels: str | None = None
    classes: Count | None = None
    subset: Count | None = None
    selection: Count | None = None
    model: str = "cnn3"
    method: str = DEFAULT
    sampling: Literal["plain", "balanced"] = "plain"
    control: Literal["reverse", "shuffle", "replay"] | None = None
    replay: str | None = None
    epochs: Count = 30
    batch_size: Count = 128
    seed: Annotated[int, Field(ge=0)] = 0
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Annotated[Literal["fastest", "32", "64", "bf16-mixed", "16-mixed"], BeforeValidator(_as_text)] = "32"
    compile: bool = False
    label_smoothing: Share = 0.0
    test_views: Literal["plain", "flip", "shift", "flip+shift"] = "plain"
    evaluate_every: Count = 1
    checkpoint_minutes: Positive = 5.0
    optimizer: OptimizerSettings = OptimizerSettings()
    policy: Annotated[SerializeAsAny[Chosen], BeforeValidator(_chosen("policy"))] = Field({}, validate_default=True)
    estimator: Annotated[SerializeAsAny[EstimatorSettings], BeforeValidator(_chosen("estimator"))] = Field(
        {}, validate_default=True
    )
    augment: AugmentSettings = AugmentSettings()
    start: StartSettings = StartSettings()
    meta: MetaSettings = MetaSettings()
    corrupt: CorruptSettings = CorruptSettings()
    ssl: SslSettings = SslSettings()

    @property
    def full_method(self) -> str:
        """As users write it: `trustmix:reverse`."""
        return self.method if self.control is None else f"{self.method}:{self.control}"


def check(values: dict[str, Any], where: str = "settings") -> Settings:
    """Settings from nested values; the first mistake is told as where it is and what is allowed."""
    refuse_unknown(values, where)
    try:
        for what in SECTIONS:
            _check_section(what, values.get(what))
        return Settings.model_validate(values)
    except ValidationError as error:
        raise _told(error, where) from error
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def refuse_unknown(values: dict[str, Any], where: str) -> None:
    own = tuple(f"{what}." for what in SECTIONS if is_code(_name(values, what)))  # has keys of its own
    for key in flat(values):
        if key not in known_keys() and key not in Settings.model_fields and not key.startswith(own):
            raise UserError(f"{where}: {unknown('setting', key, known_keys())}")


def _name(values: dict[str, Any], what: str) -> Any:
    section = values.get(what)
    return section.get("name") if isinstance(section, dict) else None


def _check_section(what: str, value: Any) -> None:
    """Here, since an error inside a validator loses its key."""
    if not isinstance(value, dict):
        return
    section = _section(what, value)
    for key in value:
        if key not in section.model_fields:
            find, names = SECTIONS[what]
            others = [name for name in names if key in find(name).model_fields]
            raise not_applying(what, section.model_fields["name"].default, key, section, others)
    try:
        section.model_validate(value)
    except ValidationError as error:
        raise UserError(str(_told(error, "", f"{what}."))) from error


@cache
def known_keys() -> tuple[str, ...]:
    """Every setting by its dotted name, of all policies and estimators."""
    plain = [key for key in flat(Settings.model_validate({}).model_dump()) if key.partition(".")[0] not in SECTIONS]
    return (*plain, *choice_keys())


def _told(error: ValidationError, where: str, prefix: str = "") -> UserError:
    first = error.errors()[0]
    key = prefix + ".".join(str(part) for part in first["loc"])
    if first["type"] == "value_error":
        told = f"{key.rstrip('.')}: {first['ctx']['error']}"
    else:
        told = f"{key} = {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"
    return UserError(f"{where}: {told}".removeprefix(": "))
