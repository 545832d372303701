"""Blending inside a network: what a module puts out, or is given, is mixed on its way (Manifold MixUp, embeddings)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from metamixup.errors import UserError
from metamixup.mixing.mix import Mixture


@contextmanager
def mix_at(module: nn.Module, mixture: Mixture, before: bool = False) -> Iterator[list[nn.Module]]:
    """While this is open, each output of `module` (its first input with `before`) is blended; λ receives gradient.
    Gives a list that grows by the module with each blend.

    It works for any module of any network, also when that is called with other parameters (`functional_call`). The
    labels are blended by the caller.
    """
    blended: list[nn.Module] = []

    def blend(hidden: Any) -> Tensor:
        kind = type(module).__name__
        if not isinstance(hidden, Tensor):
            raise TypeError(f"{kind} puts out a {type(hidden).__name__}; only a tensor can be blended")
        if len(hidden) != len(mixture.partner):
            raise UserError(f"{kind} has {tuple(hidden.shape)} for a batch of {len(mixture.partner)}: no row a sample")
        blended.append(module)
        return mixture.inputs(hidden)

    if before:
        hook = module.register_forward_pre_hook(lambda _, inputs: (blend(inputs[0]), *inputs[1:]))
    else:
        hook = module.register_forward_hook(lambda _, __, output: blend(output))
    try:
        yield blended
    finally:
        hook.remove()


@dataclass(frozen=True)
class BlendPoint:
    """Where samples are blended: the inputs (`module` is None), or what a module gives or (`before`) is given."""

    module: nn.Module | None = None
    before: bool = False
