"""A network as a function of its parameters and buffers, and the linear layer that it ends in. For any `nn.Module`."""

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import RLock
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from metamixup.errors import UserError

Net = Callable[..., Tensor]
Parameters = dict[str, Tensor]


def network(model: nn.Module, parameters: Parameters) -> Net:
    """Φ(θ) as a function; parameters not named are the model's own, without gradient.

    Buffers are cloned: BatchNorm would otherwise learn its running statistics from this pass.
    """
    values = {id(p): parameters.get(name, p.detach()) for name, p in model.named_parameters()}
    values |= {id(b): b.clone() for b in model.buffers()}
    state = {name: values[id(tensor)] for name, tensor in tensor_slots(model)}

    def net(*inputs: Any, **named: Any) -> Tensor:
        return functional_call(model, state, inputs, named, tie_weights=False)

    return net


_locks: weakref.WeakKeyDictionary[nn.Module, Any] = weakref.WeakKeyDictionary()


def alone_with(model: nn.Module) -> AbstractContextManager[Any]:
    """One thread at a time: a functional call swaps the model's own tensors, and two at once would lose them."""
    lock: AbstractContextManager[Any] = _locks.setdefault(model, RLock())
    return lock


def tensor_slots(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Every attribute of a module that holds a parameter or buffer, once: a tied weight has several, a module with two
    names is one. (`functional_call` by itself swaps such a module twice, and leaves the wrong tensors in it.)"""
    for prefix, module in model.named_modules():
        for key, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                yield f"{prefix}.{key}" if prefix else key, tensor


@contextmanager
def leaving_no_trace(model: nn.Module) -> Iterator[None]:
    """Gradients are on, and the random state is put back: dropout of the meta stage does not shift the real step's."""
    devices = sorted({p.device.index for p in model.parameters() if p.device.type == "cuda"})
    with torch.random.fork_rng(devices=devices), torch.enable_grad(), _full_range():
        yield


def _full_range() -> AbstractContextManager[object]:
    """float16 would flush the tiny meta-gradient to zero, and no loss scaler guards it; bfloat16 has the range."""
    half = torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.float16
    return torch.autocast("cuda", enabled=False) if half else nullcontext()


_classifiers: weakref.WeakKeyDictionary[nn.Module, str | None] = weakref.WeakKeyDictionary()


def find_classifier(model: nn.Module, forward: Callable[[Net], Any]) -> str | None:
    """The name of the linear layer that is called last in a forward pass, looked for once a model; None without any.

    forward: calls the network that it is given on some inputs.
    """
    if model not in _classifiers:
        called = [name for name, module in _called(model, forward) if isinstance(module, nn.Linear)]
        _classifiers[model] = called[-1] if called else None
    return _classifiers[model]


def classifier_name(model: nn.Module, forward: Callable[[Net], Any] | None = None) -> str:
    """`find_classifier` for those who need one. `forward` may be left out where it has been found before, or where the
    model has but one linear layer."""
    linears = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    if forward is not None and linears:
        linears = [name for name in (find_classifier(model, forward),) if name is not None]
    elif _classifiers.get(model) is not None:
        linears = [str(_classifiers[model])]
    if not linears:
        raise UserError(
            f"{type(model).__name__} has no linear layer to end in, which policy 'trust', estimator 'head', AdaMixUp, "
            "fine-tuning and mix_at='features' need; policy 'learned' with estimator 'finite_difference' or 'exact' "
            "serves any model"
        )
    if len(linears) > 1:
        raise UserError(
            f"{type(model).__name__} has several linear layers; which one it ends in shows when it is called: "
            "find_classifier(model, lambda net: net(x))"
        )
    return linears[0]


def _called(model: nn.Module, forward: Callable[[Net], Any]) -> list[tuple[str, nn.Module]]:
    """The modules that are called in a forward pass, in the order in which they end."""
    called: list[tuple[str, nn.Module]] = []
    with leaving_no_trace(model), ExitStack() as hooks:
        for name, module in model.named_modules():
            hook = lambda _, *__, name=name, module=module: called.append((name, module))  # noqa: E731
            hooks.enter_context(module.register_forward_hook(hook))
        with torch.no_grad():
            forward(network(model, {}))
    return called


class NextPass:
    """Tells of a model's next pass on certain inputs, once: what one of its layers put out in it. Then its hooks are
    gone. Compiled passes and those of a functional transform are not told of: hooks would be compiled with them.

    given: the inputs, asked for when there is a pass; tell: called with the output of `layer`.
    """

    def __init__(
        self, model: nn.Module, layer: nn.Module, given: Callable[[], list[Tensor]], tell: Callable[[Tensor], None]
    ):
        self.given, self.tell = given, tell
        self._output: Tensor | None = None
        self._handles = [
            layer.register_forward_hook(OwnHook(self._keep)),
            model.register_forward_hook(OwnHook(self._ended), with_kwargs=True),
        ]

    def _keep(self, _: nn.Module, __: tuple[Any, ...], output: Any) -> None:
        self._output = output.detach() if isinstance(output, Tensor) and not _traced() else None

    def _ended(self, _: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], __: Any) -> None:
        if self._output is None or _traced():
            return
        passed = {id(value) for value in (*inputs, *named.values())}
        if any(id(tensor) in passed for tensor in self.given()):
            self.remove()
            self.tell(self._output)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def _traced() -> bool:
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


class OwnHook:
    """A hook of this one module: in copies and files of it one that says nothing is in its place."""

    def __init__(self, hook: Callable[..., None]):
        self.hook = hook

    def __call__(self, *given: Any) -> None:
        self.hook(*given)

    def __reduce__(self) -> tuple[Any, ...]:
        return _silent, ()


def _silent() -> Callable[..., None]:
    return _says_nothing


def _says_nothing(*_: Any) -> None: ...


def known_classifier(model: nn.Module) -> nn.Module | None:
    """The linear layer that it ends in, where that has been looked for."""
    name = _classifiers.get(model)
    return None if name is None else model.get_submodule(name)


@contextmanager
def captured_outputs(module: nn.Module) -> Iterator[list[Tensor]]:
    """What a module puts out while this is open, in order, without gradients."""
    outputs: list[Tensor] = []
    with module.register_forward_hook(lambda _, __, output: outputs.append(output.detach())):
        yield outputs


@contextmanager
def captured_inputs(module: nn.Module) -> Iterator[list[Tensor]]:
    """The inputs that a module is called with while this is open, in order."""
    inputs: list[Tensor] = []
    with module.register_forward_pre_hook(lambda _, given: inputs.append(given[0])):
        yield inputs


SHALLOW = 3  # layers with weights


def fragile(model: nn.Module) -> bool:
    """May its units die of large gradients before it has learned anything? Those of a deep network without layers that
    keep features in bounds do. Libraries have such layers of their own, but call them alike."""
    deep = sum(parameter.ndim > 1 for parameter in model.parameters()) > SHALLOW
    names = (type(module).__name__.lower() for module in model.modules())
    return deep and not any("norm" in name for name in names if name != "normalize")  # which is of the inputs
