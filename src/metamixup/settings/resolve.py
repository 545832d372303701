"""From what a user gave (a file, flags, --set) to the complete settings of a run."""

import re
import tomllib
from pathlib import Path
from typing import Any

import torch

from metamixup.data import known_data
from metamixup.data.glance import glance
from metamixup.data.relabel import label_archive
from metamixup.errors import UserError, unknown
from metamixup.settings.choices import SECTIONS
from metamixup.settings.defaults import data_defaults, meta_defaults, model_defaults, policy_defaults
from metamixup.settings.dotted import nested
from metamixup.settings.methods import method_entry, with_control
from metamixup.settings.schema import Settings, check, known_keys
from metamixup.settings.semi_supervised import SEMI_SUPERVISED

# Other defaults depend on these.
DECISIVE = ("data", "model", "image_size", "subset", "method", "batch_size", "policy.name", "estimator.name")
NATIVE_BF16 = ("avx512_bf16", "amx_bf16", "bf16")  # as processors name it
PATHS = ("data_dir", "replay", "start.weights", "labels", "meta.source", "corrupt.file")
BY_NAME = ("corrupt.file",)  # may lie in the data folder


def with_whole_paths(given: dict[str, Any]) -> dict[str, Any]:
    """So that a run goes on from any working directory; names of data sets stay names."""
    found = dict(given)
    _refuse_empty(found)
    data = found.get("data")
    if isinstance(data, str) and data not in known_data() and Path(data).expanduser().exists():
        found["data"] = str(Path(data).expanduser().absolute())
    library, _, folder = str(found.get("model", "")).partition(":")
    if library == "hf" and Path(folder).expanduser().is_dir():
        found["model"] = f"hf:{Path(folder).expanduser().absolute()}"
    for key in PATHS:
        if isinstance(found.get(key), str) and found[key] != "none":
            whole = Path(found[key]).expanduser().absolute()
            if key not in BY_NAME or label_archive(str(whole))[0].exists():
                found[key] = str(whole)
    return found


def _refuse_empty(given: dict[str, Any]) -> None:
    """An empty path would stand for the current folder."""
    for key in ("data", *PATHS):
        if isinstance(given.get(key), str) and not given[key].strip():
            raise UserError(f"{key} is empty; give it a value or leave it out")


def resolve(given: dict[str, Any], threads: int = 1) -> Settings:
    """Complete settings. `given` holds dotted keys; it wins over the defaults of the method's name, these over the data
    set's, and these over what suits the policy."""
    given = with_control(given)
    plain = check(nested({key: given[key] for key in DECISIVE if key in given}))
    own = glance(plain.data, plain.image_size)
    by_data = data_defaults(plain, given, own)
    suited = model_defaults(given.get("model", by_data.get("model", plain.model)), by_data)
    chosen = {**suited, **method_entry(plain.method).defaults, **given}
    batch_size = plain.batch_size if "batch_size" in given else chosen.get("batch_size", plain.batch_size)
    suits = policy_defaults(chosen["policy.name"], batch_size)
    if plain.method not in SEMI_SUPERVISED:
        suits |= meta_defaults(chosen["policy.name"], given, own)
    settings = check(nested({"threads": threads, **applying({**suits, **chosen}, given), **given}))
    return settings.model_copy(update={"precision": settled_precision(settings.precision, settings.device)})


def settled_precision(precision: str, device: str = "auto") -> str:
    """`fastest` is bf16-mixed where this machine multiplies such numbers itself, else 32. It is settled once, as the
    number of threads is, since a run that goes on elsewhere must compute alike."""
    if precision != "fastest":
        return precision
    if device != "cpu" and torch.cuda.is_available():
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        can = torch.cpu.get_capabilities()
        native = any(can.get(name) for name in NATIVE_BF16)
    return "bf16-mixed" if native else "32"


def applying(values: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Without defaults that the policy and the estimator, which the user may have chosen otherwise, do not have."""
    found = dict(values)
    for what, (section_of, _) in SECTIONS.items():
        own = section_of(values[f"{what}.name"]).model_fields
        for key in values.keys() - given.keys():
            if key.startswith(f"{what}.") and key.partition(".")[2] not in own:
                del found[key]
    return found


def parse_assignment(text: str) -> tuple[str, Any]:
    """`policy.step_size=5` → ("policy.step_size", 5); what is no TOML value is taken as text."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise UserError(f"--set {text!r}: expected key=value, for example --set policy.step_size=5")
    if key.strip() not in known_keys() and not key.strip().startswith(("policy.", "estimator.")):
        raise UserError(f"--set: {unknown('setting', key.strip(), known_keys())}")
    try:
        return key.strip(), tomllib.loads(f"value = {value.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def default_out(settings: Settings) -> Path:
    """runs/DATA-MODEL-METHOD-SEED, as a name that every file system takes."""
    data = Path(settings.data).name if "/" in settings.data else settings.data
    name = f"{data}-{settings.model}-{settings.full_method}-{settings.seed}"
    return Path("runs") / re.sub(r"[^A-Za-z0-9.+_-]+", "-", name)
