"""Smooth networks for Proposition 1, which asks for a Lipschitz gradient: a small one whose curvature is certified,
and any other with its kinks (ReLU, max-pool) rounded off."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# sup |σ″| over the real line.
_CURVATURE: dict[type[nn.Module], float] = {nn.Softplus: 0.25, nn.Tanh: 4 / (3 * math.sqrt(3))}


class TwoLayer(nn.Module):
    """x ↦ W₂ σ(W₁ x + b₁) + b₂ on flattened inputs, σ softplus or tanh."""

    def __init__(self, inputs: int, hidden: int, outputs: int, activation: nn.Module):
        super().__init__()
        if type(activation) not in _CURVATURE:
            raise ValueError(f"the curvature of {type(activation).__name__} is not known here; use Softplus or Tanh")
        self.first, self.activation, self.second = nn.Linear(inputs, hidden), activation, nn.Linear(hidden, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.activation(self.first(x.flatten(1))))

    def certified_kappa(self) -> Tensor:
        """(C,) for each output a Lipschitz constant of its gradient, valid on all of ℝᵈ.

        The Hessian of output k is W₁ᵀ diag(w₂ₖ σ″) W₁, and |σ″| ≤ s, so ‖H‖ ≤ s · ‖diag(√|w₂ₖ|) W₁‖².
        """
        with torch.no_grad():
            scaled = self.second.weight.abs().sqrt().unsqueeze(2) * self.first.weight
            return _CURVATURE[type(self.activation)] * torch.linalg.matrix_norm(scaled, 2) ** 2


class RoundedOff(TorchFunctionMode):
    """Within it ReLU is a softplus and max-pool a log-sum-exp, both of sharpness β, whoever calls them."""

    def __init__(self, beta: float):
        super().__init__()
        self.beta = beta

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in (F.relu, torch.relu, torch.relu_, Tensor.relu, Tensor.relu_):
            return self._softplus(args[0])
        if func is F.leaky_relu:
            slope = kwargs.get("negative_slope", args[1] if len(args) > 1 else 0.01)
            return slope * args[0] + (1 - slope) * self._softplus(args[0])
        if func in (F.max_pool2d, torch.max_pool2d):
            return self._pool(*args, **kwargs)
        return func(*args, **kwargs)

    def _softplus(self, x: Tensor) -> Tensor:
        return F.softplus(x, self.beta, threshold=40)  # beyond it float64 sees no difference

    def _pool(self, x: Tensor, kernel: Any, stride: Any = None, padding: Any = 0, *_: Any, **__: Any) -> Tensor:
        (kh, kw), (ph, pw) = _two(kernel), _two(padding)
        sh, sw = _two(stride if stride not in (None, [], ()) else kernel)
        x = F.pad(x, (pw, pw, ph, ph), value=-1e4) if ph or pw else x
        windows = x.unfold(-2, kh, sh).unfold(-2, kw, sw)
        return (self.beta * windows).logsumexp((-2, -1)) / self.beta


def _two(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[-1]))
