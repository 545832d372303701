"""The virtual step of Φ′: θ′ = θ − η∇, and the gradients that it needs.

Plain SGD with the current learning rates makes θ′; momentum and weight decay belong to the real step alone.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from metamixup.errors import UserError
from metamixup.network import Parameters


def learning_rates(model: nn.Module, lr: float | Optimizer) -> dict[str, float]:
    """η of every trainable parameter by name. Of an optimizer each group keeps its own; what it leaves out has 0."""
    names = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not names:
        raise UserError("the model has no trainable parameter, so λ has nothing to learn from")
    if not isinstance(lr, Optimizer):
        return dict.fromkeys(names, _finite(lr))
    rates = {id(p): _finite(group["lr"]) for group in lr.param_groups for p in group["params"]}
    if not rates.keys() & {id(p) for p in names.values()}:
        raise UserError("the optimizer holds no parameter of this model; lr is the one that trains it, or a number")
    return {name: rates.get(id(p), 0.0) for name, p in names.items()}


def highest_rate(lr: float | Optimizer) -> float:
    """Of all parameters."""
    if not isinstance(lr, Optimizer):
        return _finite(lr)
    return max(_finite(group["lr"]) for group in lr.param_groups)


def _finite(lr: Any) -> float:
    try:
        rate = float(lr)
    except (TypeError, ValueError):
        kind = f"{lr!r:.40}" if isinstance(lr, str) else f"a {type(lr).__name__}"
        hint = ", not its scheduler" if hasattr(lr, "optimizer") else ""
        hint = ", a single one; of several, the rate of the one that trains the model" if isinstance(lr, list) else hint
        raise UserError(f"lr is an optimizer or a number, not {kind}: give lr=optimizer{hint}") from None
    if not 0 <= rate < math.inf:
        raise UserError(f"a learning rate is finite and at least 0, not {rate}")
    return rate


def trainable(model: nn.Module, eta: Mapping[str, float]) -> Parameters:
    """θ as leaves of a graph of their own, so that no `.grad` of the model is ever touched."""
    return {n: p.detach().requires_grad_() for n, p in model.named_parameters() if n in eta}


def ahead(theta: Parameters, gradient: Mapping[str, Tensor], eta: Mapping[str, float]) -> Parameters:
    """θ′ = θ − η∇, as fresh leaves."""
    return {n: (p.detach() - eta[n] * gradient[n].detach()).requires_grad_() for n, p in theta.items()}


def gradient(loss: Tensor, theta: Parameters, create_graph: bool = False) -> Parameters:
    """∇θ of the loss by name; zero where the loss does not reach."""
    grads = torch.autograd.grad(
        loss, list(theta.values()), create_graph=create_graph, allow_unused=True, materialize_grads=True
    )
    return dict(zip(theta, grads, strict=True))


def scaled(v: Parameters, eta: Mapping[str, float]) -> Parameters:
    """η·v: the direction in which a sample's gradient lowers the meta loss."""
    return {name: eta[name] * value for name, value in v.items()}


@contextmanager
def same_noise(model: nn.Module) -> Iterator[Callable[[], None]]:
    """Gives a function that rewinds the random state, so that several passes see one dropout mask."""
    devices = [p.device for p in model.parameters() if p.device.type == "cuda"][:1]
    cpu, cuda = torch.get_rng_state(), [torch.cuda.get_rng_state(d) for d in devices]

    def rewind() -> None:
        torch.set_rng_state(cpu)
        for device, state in zip(devices, cuda, strict=True):
            torch.cuda.set_rng_state(state, device)

    yield rewind
