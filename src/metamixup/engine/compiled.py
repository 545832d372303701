"""torch.compile with a way back: where it cannot work, one line says so and the plain network goes on."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten


class Compiled:
    """Dropout draws from torch's own generator, so that a seed means the same with and without `--compile`. A call of a
    network whose hooks have changed is plain: compiled code would not see them."""

    def __init__(self, net: nn.Module, say: Callable[[str], None]):
        self.plain, self.say = net, say
        self.hooks = _hooks(net)
        self.net: Callable[..., Tensor] = net
        try:
            self.net = torch.compile(net, dynamic=False, options={"fallback_random": True})
        except Exception as error:
            self._give_up(error)

    def __call__(self, *inputs: Any, **named: Any) -> Tensor:
        if self.net is self.plain or _hooks(self.plain) != self.hooks:
            return self.plain(*inputs, **named)
        try:
            with WholePooling():
                return self.net(*inputs, **named)
        except Exception as error:
            self._give_up(error)
            return self.plain(*inputs, **named)

    def _give_up(self, error: Exception) -> None:
        self.net = self.plain
        told = [line for line in str(error).splitlines() if line.strip() and not line.endswith("raised:")]
        self.say(f"going on without torch.compile: {told[0] if told else type(error).__name__}")


def _hooks(net: nn.Module) -> tuple[int, ...]:
    """The number that torch gave to each hook of a forward pass."""
    return tuple(key for m in net.modules() for key in (*m._forward_pre_hooks, *m._forward_hooks))


FORM = "SymInt[] kernel, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool ceil"


@torch.library.custom_op("metamixup::max_pool2d", mutates_args=(), schema=f"(Tensor x, {FORM}) -> (Tensor, Tensor)")
def max_pool2d(x: Tensor, *form: Any) -> tuple[Tensor, Tensor]:
    """torch's own kernel, (values, indices). The one that inductor writes on CPU is not vectorised: a CNN's step took
    twice as long compiled as eager."""
    return aten.max_pool2d_with_indices(x, *form)


@max_pool2d.register_fake
def _(x: Tensor, *form: Any) -> tuple[Tensor, Tensor]:
    return aten.max_pool2d_with_indices(x, *form)


@torch.library.custom_op(
    "metamixup::max_pool2d_backward",
    mutates_args=(),
    schema=f"(Tensor g, Tensor x, Tensor indices, {FORM}) -> Tensor",
)
def max_pool2d_backward(g: Tensor, x: Tensor, indices: Tensor, *form: Any) -> Tensor:
    return aten.max_pool2d_with_indices_backward(g, x, *form, indices)


@max_pool2d_backward.register_fake
def _(g: Tensor, x: Tensor, *form: Any) -> Tensor:
    return torch.empty_like(x)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(inputs[0], output[1])
    ctx.form = inputs[1:]


def _backward(ctx: Any, g: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    return max_pool2d_backward(g, *ctx.saved_tensors, *ctx.form), None, None, None, None, None


max_pool2d.register_autograd(_backward, setup_context=_keep)


class WholePooling(TorchFunctionMode):
    """Within it, max pooling on CPU is the operator above."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.max_pool2d and args[0].device.type == "cpu" and args[0].ndim == 4:
            return _pooled(*args, **kwargs)
        return func(*args, **kwargs)


def _pooled(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    kernel, padding, dilation = _two(kernel_size), _two(padding), _two(dilation)
    found = max_pool2d(x, kernel, kernel if stride is None else _two(stride), padding, dilation, ceil_mode)
    return found if return_indices else found[0]


def _two(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else [*value] * (2 if len(value) == 1 else 1)
