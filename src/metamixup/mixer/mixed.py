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
    """A blended batch. x: (B, …); y: (B, C) soft labels or (B, …) blended targets; lam, partner: (B,); size: B."""

    y: Tensor
    mixture: Mixture
    point: BlendPoint
    source: Inputs
    size: int

    @property
    def x(self) -> Inputs:
        if self.point.module is not None:
            raise UserError("samples are blended inside the model, not at its input: use mixed.outputs(model)")
        return self.given

    @cached_property
    def given(self) -> Inputs:
        """What the model is called with: tensors of this batch's own, by which a pass on it is known."""
        if self.point.module is None:
            return batches.blended(self.source, self.mixture, self.size)
        # Up to the features each sample is alone: a longer mask would show it its own padding.
        mixture = Mixture.unblended(self.mixture.lam) if self.point.before else self.mixture
        return batches.covering(self.source, mixture, self.size)

    @property
    def asked_for(self) -> list[Tensor]:
        """The tensors of `given`, if anybody has asked for it."""
        return batches.tensors_of(self.__dict__.get("given", ()))

    @property
    def lam(self) -> Tensor:
        return self.mixture.lam

    @property
    def partner(self) -> Tensor:
        return self.mixture.partner

    def outputs(self, model: Callable[..., Any]) -> Any:
        """What the model makes of the blended batch, wherever it is blended; `model(mixed.x)` for `mix_at="input"`."""
        if self.point.module is None:
            return batches.call(model, self.given)
        with mix_at(self.point.module, self.mixture, self.point.before) as blended:
            found = batches.call(model, self.given)
        if len(blended) != 1:
            raise UserError(
                f"samples are to be blended at {type(self.point.module).__name__}, but a pass calls it {len(blended)} "
                "times, so that inputs are not blended as their labels are: give mix_at the name of a module that is "
                "called once in each pass, and mixed.outputs the model that the mixer was made with, not a compiled one"
            )
        return found


def outputs(net: Callable[..., Any], x: Inputs, mixture: Mixture, point: BlendPoint, size: int) -> Any:
    if mixture.picked:
        return batches.call(net, batches.chosen(x, mixture.partner, size))
    return Mixed(mixture.lam, mixture, point, x, size).outputs(net)
