"""Memory that runs out in the meta stage: the user is told which estimator needs less of it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from metamixup.errors import UserError
from metamixup.meta import Estimator, Exact, FiniteDifference, Head

LESS = "--set estimator.fraction=0.5 learns from half of the batch, and a smaller --batch-size helps everywhere"


@contextmanager
def naming_cheaper(estimator: Estimator | None) -> Iterator[None]:
    """Around the meta stage."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(f"out of memory in the meta stage; {cheaper(estimator)}") from error


def is_out_of_memory(error: Exception) -> bool:
    """A GPU's has a type of its own; a CPU's is known by its words."""
    known = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return known or any(words in str(error) for words in ("can't allocate memory", "not enough memory"))


def cheaper(estimator: Estimator | None) -> str:
    if isinstance(estimator, Exact | FiniteDifference):
        return "estimator 'head' keeps the last layer's virtual step only and needs far less: --estimator head"
    if isinstance(estimator, Head) and estimator.blend == "input":
        return f"--estimator head-features needs no backward pass; {LESS}"
    return LESS
