"""A blended batch, and what a network makes of it wherever samples are blended."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from metamixup.errors import UserError
from metamixup.mixer import batches
from metamixup.mixer.batches import Inputs
from metamixup.mixing import Mixture
from metamixup.mixing.at import BlendPoint, mix_at


@dataclass(frozen=True)
class Mixed:
    """A blended batch. x: (B, …); y: (B, C) soft labels or (B, …) blended targets; lam, partner: (B,)."""

    y: Tensor
    mixture: Mixture
    point: BlendPoint
    source: Inputs

    @cached_property
    def x(self) -> Inputs:
        if self.point.module is not None:
            raise UserError("samples are blended inside the model, not at its input: use mixed.outputs(model)")
        return batches.blended(self.source, self.mixture)

    @property
    def shown(self) -> list[Tensor]:
        """The tensors that a pass on this batch begins with, as far as they have been asked for."""
        return batches.tensors_of(self.source if self.point.module is not None else self.__dict__.get("x", ()))

    @property
    def lam(self) -> Tensor:
        return self.mixture.lam

    @property
    def partner(self) -> Tensor:
        return self.mixture.partner

    def outputs(self, model: Callable[..., Any]) -> Any:
        """What the model makes of the blended batch, wherever it is blended; `model(mixed.x)` for `mix_at="input"`."""
        if self.point.module is None:
            return batches.call(model, self.x)
        return outputs(model, self.source, self.mixture, self.point)


def outputs(net: Callable[..., Any], x: Inputs, mixture: Mixture, point: BlendPoint) -> Any:
    if point.module is None:
        return batches.call(net, batches.blended(x, mixture))
    with mix_at(point.module, mixture, point.before):
        return batches.call(net, batches.covering(x, mixture))
