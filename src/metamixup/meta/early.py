"""The first point in a network where its samples become smaller: blending there costs less than at the input, and means
nearly the same. Found by itself in any model that is called once on its inputs.

A point is good only if all that is made of the inputs goes through it, or part of a sample would escape the blend:
the output of a module that dominates, in the graph of the backward pass, every way from the outputs to the inputs.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from torch import Tensor, nn

from metamixup.network import Net, leaving_no_trace, network

DEEPEST = 0.5  # of the calls of modules; beyond this it is no longer near the input


class Call(NamedTuple):
    name: str
    node: Any  # the output's node in the graph of the backward pass
    size: int  # of a sample


_points: weakref.WeakKeyDictionary[nn.Module, str | None] = weakref.WeakKeyDictionary()


def early_point(model: nn.Module, forward: Callable[[Net], Any]) -> str | None:
    """The name of the module whose output it is, looked for once a model; None where there is none."""
    if model not in _points:
        _points[model] = find(model, forward)
    return _points[model]


def find(model: nn.Module, forward: Callable[[Net], Any]) -> str | None:
    sources, calls, outputs = _calls(model, forward)
    before = max((x.numel() // len(x) for x in sources), default=0)
    once = [call for call in calls if sum(other.name == call.name for other in calls) == 1]
    for k, call in enumerate(once[: int(DEEPEST * len(once))]):
        smaller = call.size < max([before, *(c.size for c in once[:k])])
        if smaller and len(sources) == 1 and not _reaches(outputs, sources[0], call.node):
            return call.name
    return None


def _calls(model: nn.Module, forward: Callable[[Net], Any]) -> tuple[list[Tensor], list[Call], list[Tensor]]:
    """The inputs of the network, the calls of its modules in the order in which they ended, and the outputs."""
    sources: list[Tensor] = []
    calls: list[Call] = []
    outputs: list[Tensor] = []
    plain = network(model, {})

    def net(*inputs: Any, **named: Any) -> Tensor:
        sources.extend(x.detach().requires_grad_() for x in inputs if isinstance(x, Tensor) and x.is_floating_point())
        rest = iter(sources)
        floating = [next(rest) if isinstance(x, Tensor) and x.is_floating_point() else x for x in inputs]
        outputs.append(plain(*floating, **named))
        return outputs[-1]

    def note(name: str, output: Any) -> None:
        if isinstance(output, Tensor) and output.grad_fn is not None and output.ndim > 1:
            calls.append(Call(name, output.grad_fn, output.numel() // len(output)))

    with leaving_no_trace(model), ExitStack() as hooks:
        for name, module in model.named_modules():
            if name:
                hooks.enter_context(module.register_forward_hook(lambda _, __, out, name=name: note(name, out)))
        forward(net)
    return sources, calls, outputs


def _reaches(outputs: list[Tensor], source: Tensor, without: Any) -> bool:
    """Is there a way from the outputs to the source that avoids a node?"""
    seen, waiting = {without}, [out.grad_fn for out in outputs]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if getattr(node, "variable", None) is source:
            return True
        waiting.extend(_next(node))
    return False


def _next(node: Any) -> Iterator[Any]:
    return (following for following, _ in node.next_functions)
