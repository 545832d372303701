"""The processes that share a step. Alone, every function here gives back what it was given.

N processes with a share of the batch each do what one with the whole batch does: gradients and means are averaged,
memories gathered, and whatever is drawn is drawn for the whole batch by all, of which each keeps its share.
Shares have one size. Not here: who starts the processes (engine/launch.py).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from metamixup.errors import UserError

T = TypeVar("T")


class ToldElsewhere(UserError):
    """Another process tells the user."""


def size() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    return dist.get_rank() if size() > 1 else 0


def leads() -> bool:
    """Does this process write files and speak to people?"""
    return rank() == 0


def total(x: Tensor) -> Tensor:
    """The sum over the processes, elementwise."""
    return x if size() == 1 else _reduced(x, dist.ReduceOp.SUM)


def mean(x: Tensor) -> Tensor:
    return x if size() == 1 else total(x) / size()


class JointMean(torch.autograd.Function):
    """The mean over the processes, through which gradients flow to all of them."""

    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        return mean(x)

    @staticmethod
    def backward(_: Any, grad: Tensor) -> Tensor:
        return joint_mean(grad)


def joint_mean(x: Tensor) -> Tensor:
    """`mean` as a differentiable function."""
    return x if size() == 1 else JointMean.apply(x)


def largest(x: Tensor) -> Tensor:
    return x if size() == 1 else _reduced(x, dist.ReduceOp.MAX)


def any_of(*flags: bool) -> list[bool]:
    """Which of the flags is up in any process."""
    return list(flags) if size() == 1 else largest(torch.tensor(flags, dtype=torch.uint8)).bool().tolist()


def mean_all(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The mean of each tensor; one message for all of a type."""
    if size() == 1:
        return dict(tensors)
    found: dict[str, Tensor] = {}
    for kind in {tensor.dtype for tensor in tensors.values()}:
        names = [name for name, tensor in tensors.items() if tensor.dtype == kind]
        flat = mean(torch.cat([tensors[name].detach().reshape(-1) for name in names]))
        parts = flat.split([tensors[name].numel() for name in names])
        found |= {name: part.view(tensors[name].shape) for name, part in zip(names, parts, strict=True)}
    return {name: found[name] for name in tensors}


def gathered(x: Tensor) -> Tensor:
    """The rows of all processes, in their order; a process may have more rows than another, or none."""
    if size() == 1:
        return x
    rows = torch.zeros(size(), dtype=torch.int64)
    rows[rank()] = len(x)
    counts, shape = total(rows).tolist(), largest(torch.tensor([0, *x.shape[1:]])).tolist()[1:]
    padded = x.new_zeros(max(counts), *shape)
    if len(x):
        padded[: len(x)] = x
    sent = padded.to(_device())
    parts = [torch.empty_like(sent) for _ in counts]
    dist.all_gather(parts, sent)
    return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]).to(x.device)


def from_leader(make: Callable[[], bytes]) -> bytes:
    """What `make` gives in the process that leads; the others do not call it."""
    if size() == 1:
        return make()
    content = make() if leads() else b""
    length = int(largest(torch.tensor([len(content)])))
    if not length:
        return b""
    buffer = torch.frombuffer(bytearray(content or bytes(length)), dtype=torch.uint8).to(_device())
    dist.broadcast(buffer, 0)
    return buffer.cpu().numpy().tobytes()


def agreed(make: Callable[[], T]) -> T:
    """What `make` gives in the process that leads, for all: something that JSON can hold. Its mistakes are told to
    all of them as well, so that none waits for the others."""
    if size() == 1:
        return make()
    problems: list[UserError] = []

    def content() -> bytes:
        try:
            return json.dumps({"value": make()}).encode()
        except UserError as error:
            problems.append(error)
            return json.dumps({"problem": str(error)}).encode()

    told = json.loads(from_leader(content))
    if "problem" in told:
        raise problems[0] if problems else ToldElsewhere(told["problem"])
    return told["value"]


def part(x: Tensor, dim: int = 0) -> Tensor:
    """This process's share of what was drawn for the whole batch."""
    return x if size() == 1 else x.chunk(size(), dim)[rank()]


def global_positions(blocks: Sequence[int]) -> Tensor | None:
    """(Σ blocks,) where this process's samples stand in the whole batch, whose blocks are as many times longer."""
    if size() == 1:
        return None
    starts = accumulate((size() * n for n in blocks), initial=0)
    return torch.cat([start + rank() * n + torch.arange(n) for start, n in zip(starts, blocks, strict=False)])


def _reduced(x: Tensor, how: dist.ReduceOp.RedOpType) -> Tensor:
    sent = x.detach().clone().to(_device()).contiguous()
    dist.all_reduce(sent, how)
    return sent.to(x.device)


def _device() -> torch.device:
    """Where messages start: nccl knows GPUs only."""
    return torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else torch.device("cpu")
