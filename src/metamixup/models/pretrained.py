"""Fine-tuning: weights that a user brings, a new head, layers that stand still or move slowly. For any `nn.Module`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MethodType
from typing import Any

from torch import Tensor, nn

from metamixup.errors import DataError, UserError, unknown
from metamixup.network import classifier_name
from metamixup.storage import read_file

WRAPPERS = ("module.", "model.", "_orig_mod.")  # what DDP, frameworks and torch.compile put before names


def read_weights(path: Path | str) -> dict[str, Tensor]:
    """The tensors of a safetensors file, or of a run folder's. Pickles are refused: they can run code."""
    import safetensors.torch

    file = Path(path).expanduser()
    file = file / "model.safetensors" if file.is_dir() else file
    try:
        return safetensors.torch.load(read_file(file))
    except OSError as error:
        raise DataError(f"weights {file}: {error.strerror}") from error
    except safetensors.SafetensorError as error:
        raise DataError(
            f"weights {file} are no safetensors file ({error}); from a module: safetensors.torch.save_model(module, F)"
        ) from error


def adopt(model: nn.Module, weights: Mapping[str, Tensor] | nn.Module, new_head: bool = False) -> list[str]:
    """Load weights into the model, all but a head of another shape; gives the names of what stays new.

    With `new_head` the classifier starts afresh though it would fit. Anything else that is missing is an error.
    """
    found = weights.state_dict() if isinstance(weights, nn.Module) else dict(weights)
    found = {_unwrapped(name): tensor for name, tensor in found.items()}
    own, head = model.state_dict(), f"{classifier_name(model)}."
    fitting = {n: t for n, t in found.items() if n in own and own[n].shape == t.shape}
    if new_head:
        fitting = {name: tensor for name, tensor in fitting.items() if not name.startswith(head)}
    new = [name for name in own if name not in fitting]
    lacking = [name for name in new if not name.startswith(head)]
    if lacking:
        raise UserError(f"the weights do not fit this model: {_mismatch(lacking[0], own, found)} ({len(lacking)} so)")
    model.load_state_dict(fitting, strict=False)
    return new


def freeze(model: nn.Module, names: Iterable[str]) -> None:
    """Those modules keep their weights, and their BatchNorm its statistics. `stem` also finds `stages.stem`."""
    for name in names:
        module = model.get_submodule(find_module(model, name))
        module.requires_grad_(False)
        module.eval()
        module.train = MethodType(_stand_still, module)  # type: ignore[method-assign]


def parameter_groups(model: nn.Module, lr: float, slow: float = 1.0) -> list[dict[str, Any]]:
    """For an optimizer: the head learns at `lr`, all layers before it at `slow`·`lr`; frozen ones are left out."""
    head = f"{classifier_name(model)}."
    movable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for name, p in movable if name.startswith(head)], "lr": lr},
        {"params": [p for name, p in movable if not name.startswith(head)], "lr": slow * lr},
    ]
    return [group for group in groups if group["params"]]


def find_module(model: nn.Module, name: str) -> str:
    """The whole name of a module that is called so, or ends so; the outermost counts."""
    names = [n for n, _ in model.named_modules() if n]
    matching = [n for n in names if n == name or n.endswith(f".{name}")]
    if not matching:
        short = [n.removeprefix("stages.") for n in names if n != "stages"]
        raise unknown("layer", name, [n for n in short if "." not in n])
    return min(matching, key=lambda n: n.count("."))


def _stand_still(module: nn.Module, mode: bool = True) -> nn.Module:
    return module


def _unwrapped(name: str) -> str:
    for wrapper in WRAPPERS:
        name = name.removeprefix(wrapper)
    return name


def _mismatch(name: str, own: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:
    if name not in found:
        return f"{name} is missing"
    return f"{name} is {tuple(found[name].shape)}, not {tuple(own[name].shape)}"
