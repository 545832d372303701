"""A network as a function of its parameters and buffers, and the linear layer that it ends in. For any `nn.Module`."""

import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
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


Classifiers = MutableMapping[nn.Module, str | None]  # the layer that each of some models ends in, as far as looked for
_everyones: Classifiers = weakref.WeakKeyDictionary()
_classifiers: ContextVar[Classifiers] = ContextVar("classifiers", default=_everyones)


@contextmanager
def knowing(classifiers: Classifiers) -> Iterator[None]:
    """Layers are looked up in `classifiers` alone while this is open, and what is found is kept there: of a model with
    several heads each loss ends in another one."""
    before = _classifiers.set(classifiers)
    try:
        yield
    finally:
        _classifiers.reset(before)


def find_classifier(model: nn.Module, forward: Callable[[Net], Tensor]) -> str | None:
    """The name of the linear layer that a model ends in: all that comes out is made of its output, with no weights
    after it or beside it. Looked for once a model, and anew where that layer is gone; None without any.

    forward: calls the network that it is given on some inputs, for its logits or for a loss of them.
    """
    known = _classifiers.get()
    if model not in known or not _still_there(model, known[model]):
        known[model] = _searched(model, forward)
    return known[model]


def classifier_name(model: nn.Module, forward: Callable[[Net], Tensor] | None = None) -> str:
    """`find_classifier` for those who need one. `forward` may be left out where it has been found before, or where the
    model has but one linear layer."""
    linears = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    if forward is not None and linears:
        linears = [name for name in (find_classifier(model, forward),) if name is not None]
    elif known_classifier(model) is not None:
        linears = [str(_classifiers.get()[model])]
    if not linears:
        raise UserError(
            f"{type(model).__name__} has no linear layer that it ends in, which estimator 'head', AdaMixUp, "
            "fine-tuning and mix_at='features' need: policy 'learned' with estimator 'finite_difference' or 'exact' "
            "serves any model, and mix_at takes the name of any module"
        )
    if len(linears) > 1:
        raise UserError(
            f"{type(model).__name__} has several linear layers; which one it ends in shows when it is called: "
            "find_classifier(model, lambda net: net(x))"
        )
    return linears[0]


def known_classifier(model: nn.Module) -> nn.Module | None:
    """The linear layer that it ends in, where that has been looked for."""
    name = _classifiers.get().get(model)
    return model.get_submodule(name) if name is not None and _still_there(model, name) else None


def ends_otherwise(model: nn.Module) -> bool:
    """Has a linear layer that it ends in been looked for in vain?"""
    known = _classifiers.get()
    return model in known and known[model] is None


def _still_there(model: nn.Module, name: str | None) -> bool:
    """Cheaper than a list of all modules: it is asked in every step."""
    module: Any = model
    for part in name.split(".") if name else ():
        module = getattr(module, part, None)
    return name is None or isinstance(module, nn.Linear)


def _searched(model: nn.Module, forward: Callable[[Net], Tensor]) -> str | None:
    """The linear layer that is called last, unless it shows that what comes out hangs on more than that."""
    called = _called_linears(model, forward)
    if not called:
        return None
    try:
        return _sufficient(model, forward, called)
    except Exception:  # a model need not bear other weights; without them nothing can be told
        return called[-1]


def _sufficient(model: nn.Module, forward: Callable[[Net], Tensor], called: list[str]) -> str | None:
    def enough(of: list[str]) -> bool:
        return _hangs_on_no_more(model, forward, of)

    if enough(called[-1:]):
        return called[-1]
    # To keep one more never hurts. So layers that nothing comes of, and that are called later, fall away by bisection.
    later = bisect_left(range(1, len(called) + 1), True, key=lambda n: enough(called[-n:]))
    found = called[: len(called) - later][-1:]
    return found[0] if found and enough(found) else None


def _called_linears(model: nn.Module, forward: Callable[[Net], Tensor]) -> list[str]:
    """In the order in which they are called last in a forward pass."""
    called: dict[str, None] = {}

    def note(name: str) -> None:
        called.pop(name, None)
        called[name] = None

    with leaving_no_trace(model), ExitStack() as hooks, torch.no_grad():
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                hooks.enter_context(module.register_forward_hook(lambda *_, name=name: note(name)))
        forward(network(model, {}))
    return list(called)


def _hangs_on_no_more(model: nn.Module, forward: Callable[[Net], Tensor], names: list[str]) -> bool:
    """Does the same come out if every weight and the order of the inputs are changed, but these layers put out what
    they did? So one need not know how a network is wired, nor keep a graph of it."""
    changed = {name: 1.5 * p.detach() + 0.1 for name, p in model.named_parameters() if p.is_floating_point()}
    other = network(model, changed)
    outputs: list[Tensor] = []

    def disturbed(*inputs: Any, **named: Any) -> Any:
        return other(*map(_reversed, inputs), **{name: _reversed(value) for name, value in named.items()})

    def again(*_: Any) -> Tensor:
        return outputs.pop(0)

    def passed(net: Net, hook: Callable[..., Tensor | None]) -> Tensor:
        with leaving_no_trace(model), ExitStack() as hooks, torch.no_grad():
            for name in names:
                hooks.enter_context(model.get_submodule(name).register_forward_hook(hook))
            return forward(net)

    # Copies, since what follows may change an output in place.
    value = passed(network(model, {}), lambda _, __, output: outputs.append(output.clone()))
    if value.is_meta or bool(value.isnan().any()):
        return True  # nothing can be told
    return torch.equal(value, passed(disturbed, again))


def _reversed(value: Any) -> Any:
    """Other inputs of the same kind: the batch from its end."""
    return value.flip(0) if isinstance(value, Tensor) and value.ndim and value.is_floating_point() else value


def logits_of(outputs: Any) -> Tensor:
    """Of a model that returns them, an object or dictionary with `logits`, or a tuple that they come first in."""
    if isinstance(outputs, Tensor):
        return outputs
    if isinstance(outputs, Mapping) and "logits" in outputs:
        outputs = outputs["logits"]
    elif hasattr(outputs, "logits"):
        outputs = outputs.logits
    elif isinstance(outputs, tuple | list) and outputs:
        outputs = outputs[0]
    if not isinstance(outputs, Tensor):
        raise UserError(f"the model returns a {type(outputs).__name__} without logits; give a loss=… that reads it")
    return outputs


class NextPass:
    """Tells of a model's next pass on certain inputs, once: what one of its layers put out in it. Then its hooks are
    gone. Compiled passes and those of a functional transform are not told of: hooks would be compiled with them.

    layer: a part of the model or all of it; given: the inputs, asked for when there is a pass; tell: called with the
    output of `layer`, or the logits in it.
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
        self._output = None
        with suppress(UserError):  # a model that gives logits at one time need not do so at all times
            self._output = None if _traced() else logits_of(output).detach()

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
