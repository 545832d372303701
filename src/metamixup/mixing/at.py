"""Blending inside a network: what a module puts out is mixed on its way to the next one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from metamixup.mixing.mix import Mixture


@contextmanager
def mix_at(module: nn.Module, mixture: Mixture) -> Iterator[None]:
    """While this is open, each output of `module` is blended; λ receives gradient through it.

    It works for any module of any network, also when that is called with other parameters (`functional_call`). The
    labels are blended by the caller.
    """

    def blend(_: nn.Module, __: Any, output: Any) -> Tensor:
        if not isinstance(output, Tensor):
            raise TypeError(f"{type(module).__name__} puts out a {type(output).__name__}; only a tensor can be blended")
        return mixture.inputs(output)

    hook = module.register_forward_hook(blend)
    try:
        yield
    finally:
        hook.remove()
