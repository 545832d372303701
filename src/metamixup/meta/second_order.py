"""Convolution and batch norm with a second derivative as fast as the first.

torch composes the double backward of batch norm from some twenty passes over the tensor and that of a convolution from
a badly shaped transposed one: together they are half of an exact meta-gradient. Here each has its closed form. The
cotangent of a weight is left out where the weight is a leaf, since no λ lies behind it. Not here: third derivatives.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten
Maybe = Tensor | None


class Form(NamedTuple):
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int

    def forward(self, x: Tensor, w: Tensor, b: Maybe = None) -> Tensor:
        return torch.convolution(
            x, w, b, self.stride, self.padding, self.dilation, False, [0] * len(self.stride), self.groups
        )

    def backward(self, g: Tensor, x: Tensor, w: Tensor, mask: Sequence[bool]) -> tuple[Maybe, Maybe, Maybe]:
        none = [0] * len(self.stride)
        bias = [w.shape[0]] if mask[2] else None
        return aten.convolution_backward(
            g, x, w, bias, self.stride, self.padding, self.dilation, False, none, self.groups, mask
        )


class Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Maybe, form: Form, weights_behind: bool) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.form, ctx.weights_behind = form, weights_behind
        return form.forward(x, w, b)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Maybe, ...]:
        """The pass that makes a graph is that of the weights: where x has none behind it, x is left out. The pass that
        makes none is the last, that of λ: leaves are left out."""
        x, w = ctx.saved_tensors
        to_x, to_w, to_b = ctx.needs_input_grad[:3]
        if torch.is_grad_enabled():
            to_x = to_x and ctx.weights_behind
        elif w.is_leaf:
            to_w = to_b = False
        return *ConvolutionBackward.apply(g, x, w, ctx.form, (to_x, to_w, to_b)), None, None


class ConvolutionBackward(torch.autograd.Function):
    """(g, x, w) → (∂x, ∂w, ∂b), each linear in g and bilinear in the rest."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, x: Tensor, w: Tensor, form: Form, mask: Sequence[bool]) -> tuple[Maybe, ...]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(g, x, w)
        ctx.form, ctx.weight_is_leaf = form, w.is_leaf
        return form.backward(g, x, w, mask)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, ux: Maybe, uw: Maybe, ub: Maybe) -> tuple[Maybe, ...]:
        g, x, w = ctx.saved_tensors
        form: Form = ctx.form
        to_g = form.forward(x, uw, ub) if uw is not None else None
        if uw is None and ub is not None:
            to_g = ub.reshape(-1, *[1] * (g.ndim - 2)).expand_as(g)
        if ux is not None:
            through = form.forward(ux, w)
            to_g = through if to_g is None else through.add_(to_g)
        to_x = form.backward(g, x, uw, (True, False, False))[0] if uw is not None else None
        to_w = None
        if ux is not None and not ctx.weight_is_leaf:
            to_w = form.backward(g, ux, w, (False, True, False))[1]
        return to_g, to_x, to_w, None, None


class BatchNorm(torch.autograd.Function):
    """Batch norm by the batch's own statistics. Running ones are not kept: the virtual network has no future."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Maybe, b: Maybe, eps: float) -> Tensor:
        y, mean, inverse = torch.native_batch_norm(x, w, b, None, None, True, 0.0, eps)
        ctx.save_for_backward(x, w, mean, inverse)
        ctx.eps = eps
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Maybe, ...]:
        x, w, mean, inverse = ctx.saved_tensors
        return *BatchNormBackward.apply(g, x, w, mean, inverse, ctx.eps, ctx.needs_input_grad[:3]), None


def batch_norm_backward(g: Tensor, x: Tensor, w: Maybe, mean: Tensor, inverse: Tensor, eps: float) -> Any:
    """(∂x, Σ g·x̂, Σ g) with x̂ the normalised input; the sums run over all but the channels."""
    return aten.native_batch_norm_backward(g, x, w, None, None, mean, inverse, True, eps, (True, True, True))


class BatchNormBackward(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, g: Tensor, x: Tensor, w: Maybe, mean: Tensor, inverse: Tensor, eps: float, mask: Sequence[bool]
    ) -> tuple[Maybe, ...]:
        ctx.set_materialize_grads(False)
        to_x, g_hat, g_sum = batch_norm_backward(g, x, w, mean, inverse, eps)
        ctx.save_for_backward(g, x, w, mean, inverse, g_hat, g_sum)
        ctx.eps = eps
        return to_x, g_hat if mask[1] else None, g_sum if mask[2] else None

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, ux: Maybe, uw: Maybe, ub: Maybe) -> tuple[Maybe, ...]:
        """With φ = ⟨ux, ∂x⟩ + ⟨uw, ∂w⟩ + ⟨ub, ∂b⟩, r = 1/√(var + ε) and n samples a channel:

        ∂φ/∂g = (the backward of ux) + uw·x̂ + ub, and ∂φ/∂x is a combination of ux, g and x̂ with a factor a channel.
        """
        g, x, w, mean, r, g_hat, g_sum = ctx.saved_tensors
        if ux is None:
            ux = torch.zeros_like(x)
        n = x.numel() / x.shape[1]
        gamma = torch.ones_like(mean) if w is None else w
        passed, u_hat, u_sum = batch_norm_backward(ux, x, w, mean, r, ctx.eps)
        dot = _channel_sum(ux * g)
        second = dot - u_sum * g_sum / n - u_hat * g_hat / n
        by_u = -gamma * r * g_hat / n  # the factors of ux and g in ∂φ/∂x̂
        by_g = -gamma * r * u_hat / n if uw is None else uw - gamma * r * u_hat / n
        constant = -(by_u * u_sum + by_g * g_sum) / n
        by_hat = -(by_u * u_hat + by_g * g_hat) / n - gamma * second * r / n
        to_x = _affine(ux, r * by_u, _affine(x, r * r * by_hat, r * constant - r * r * by_hat * mean))
        to_x = _affine(g, r * by_g, to_x)
        if uw is not None:
            shift = -uw * r * mean if ub is None else ub - uw * r * mean
            passed = passed + _affine(x, uw * r, shift)
        elif ub is not None:
            passed = passed + _row(ub, x)
        to_w = None if w is None or w.is_leaf else r * second
        return passed, to_x, to_w, None, None, None, None


def _row(a: Tensor, like: Tensor) -> Tensor:
    return a.reshape(1, -1, *[1] * (like.ndim - 2))


def _affine(x: Tensor, factor: Tensor, shift: Tensor) -> Tensor:
    """factor·x + shift; factor (and shift, unless of x's shape) by channel."""
    return torch.addcmul(shift if shift.ndim == x.ndim else _row(shift, x), x, _row(factor, x))


def _channel_sum(x: Tensor) -> Tensor:
    return x.sum([d for d in range(x.ndim) if d != 1])


def _listed(value: int | Sequence[int], n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else [*value] * (n if len(value) == 1 else 1)


def _convolution(
    original: Callable[..., Tensor],
    x: Tensor,
    weight: Tensor,
    bias: Maybe = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    n = weight.ndim - 2
    if isinstance(padding, str) or x.ndim != weight.ndim:  # 'same' padding may be uneven; unbatched inputs are rare
        return original(x, weight, bias, stride, padding, dilation, groups)
    form = Form(_listed(stride, n), _listed(padding, n), _listed(dilation, n), groups)
    return Convolution.apply(x, weight, bias, form, _several_leaves(x))


def _several_leaves(x: Tensor) -> bool:
    """Does x depend on more than λ alone, on a weight? Then two leaves lie behind it, mostly a step away."""
    leaves, seen, waiting = 0, set(), [x.grad_fn]
    while waiting and leaves < 2:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            leaves += hasattr(node, "variable")
            waiting.extend(following for following, _ in node.next_functions)
    return leaves > 1


def _batch_norm(
    x: Tensor,
    running_mean: Maybe,
    running_var: Maybe,
    weight: Maybe = None,
    bias: Maybe = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training and x.ndim > 1:
        return BatchNorm.apply(x, weight, bias, eps)
    return F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


def _autocast() -> bool:
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


class FastSecondDerivatives(TorchFunctionMode):
    """Within it, convolutions and batch norms are those above. Autocast keeps torch's own: it casts their inputs."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.batch_norm and not _autocast():
            return _batch_norm(*args, **kwargs)
        if func in (torch.conv1d, torch.conv2d, torch.conv3d) and not kwargs and not _autocast():
            return _convolution(func, *args)
        return func(*args, **kwargs)
