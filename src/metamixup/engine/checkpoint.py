"""Checkpoints that are whole or not there: one safetensors file each, named by its step and its own checksum.

Tensors are stored as such, everything else as JSON in the file's header; nothing is pickled.
"""

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from metamixup import world
from metamixup.storage import make_folder, read_file, write_atomically

NEWEST_KEPT = 2
NAME = re.compile(r"step-(\d{9})-([0-9a-f]{32})\.safetensors")


@dataclass(frozen=True)
class Checkpoint:
    step: int
    path: Path
    state: dict[str, Any]


def save(folder: Path, step: int, state: dict[str, Any]) -> Path:
    """Write the state of `step` and drop all but the newest two. Raises OSError when the disk is full."""
    make_folder(folder)
    content = pack(state)
    path = folder / f"step-{step:09d}-{_checksum(content)}.safetensors"
    write_atomically(path, content)
    for old in _by_age(folder)[NEWEST_KEPT:]:
        old.unlink(missing_ok=True)
    return path


def newest(folder: Path, accept: Callable[[int], bool] = lambda step: True) -> tuple[Checkpoint | None, list[Path]]:
    """The newest undamaged checkpoint of a step that `accept` takes, and the damaged ones that are newer."""
    damaged: list[Path] = []
    for path in _by_age(folder):
        if not accept(int(NAME.fullmatch(path.name)[1])):  # type: ignore[index]
            continue
        try:
            return read(path), damaged
        except ValueError:
            damaged.append(path)
    return None, damaged


def set_aside(damaged: list[Path]) -> None:
    """So that it is not one of the newest two, for which a sound one would be dropped."""
    for path in damaged:
        with suppress(OSError):
            path.rename(path.with_name(f"damaged-{path.name}"))


def read(path: Path) -> Checkpoint:
    """Raises ValueError if the file is not, byte for byte, what was written."""
    match = NAME.fullmatch(path.name)
    try:
        content = read_file(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    if match is None or _checksum(content) != match[2]:
        raise ValueError(f"{path} is damaged: its checksum does not match")
    return Checkpoint(int(match[1]), path, unpack(content))


def read_by_leader(find: Callable[[], Checkpoint | None]) -> Checkpoint | None:
    """The leading process finds the checkpoint and sends it to the others, which may not even see its disk."""
    if world.size() == 1:
        return find()
    held: list[Checkpoint] = []

    def about() -> dict[str, Any] | None:
        held.extend(found for found in [find()] if found is not None)
        return {"step": held[0].step, "path": str(held[0].path)} if held else None

    told = world.agreed(about)
    if told is None:
        return None
    state = unpack(world.from_leader(lambda: pack(held[0].state)))
    return Checkpoint(told["step"], Path(told["path"]), state)


def pack(state: dict[str, Any]) -> bytes:
    tensors: dict[str, Tensor] = {}
    rest = _split(state, "", tensors)
    return safetensors.torch.save(tensors, metadata={"state": json.dumps(rest)})


def unpack(content: bytes) -> dict[str, Any]:
    """Raises ValueError where the bytes are no checkpoint, whoever has made them."""
    try:
        return _unpacked(content)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, safetensors.SafetensorError) as error:
        raise ValueError(f"not a checkpoint ({type(error).__name__}: {error})") from error


def _unpacked(content: bytes) -> dict[str, Any]:
    size = int.from_bytes(content[:8], "little")
    rest = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["state"])
    # Copies: memory of one's own is aligned, and vectorised sums may depend on alignment.
    tensors = {name: tensor.clone() for name, tensor in safetensors.torch.load(content).items()}
    return _join(rest, tensors)


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _by_age(folder: Path) -> list[Path]:
    return sorted((p for p in folder.glob("step-*.safetensors") if NAME.fullmatch(p.name)), reverse=True)


def _split(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """JSON's twin of a nested state: tensors are replaced by their names, integer keys keep their type."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        return {"dict": [[key, _split(item, f"{name}/{key}", tensors)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        items = [_split(item, f"{name}/{k}", tensors) for k, item in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise TypeError(f"{name} is a {type(value).__name__}: a checkpoint holds tensors, numbers, text, lists and dicts")


def _join(node: dict[str, Any], tensors: dict[str, Tensor]) -> Any:
    ((kind, value),) = node.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {key: _join(item, tensors) for key, item in value}
    if kind in ("list", "tuple"):
        return (tuple if kind == "tuple" else list)(_join(item, tensors) for item in value)
    return value


def in_layout_of(parameter: Tensor, value: Any) -> Any:
    """A restored tensor in the memory layout of its parameter: another layout may round differently."""
    if isinstance(value, Tensor) and value.shape == parameter.shape and value.ndim:
        return torch.empty_like(parameter, dtype=value.dtype).copy_(value)
    return value
