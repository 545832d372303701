"""One step's data, as a method sees it."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """x: (B, …) inputs; y: (B, C) soft labels; index: (B,) positions in the training set.

    Semi-supervised methods also see u: (U, …) unlabelled inputs under one augmentation, u2: ((views−1)·U, …) the
    same under others (only where the method asks for `views` > 1), u_index: (U,), and what `prepare` adds: guesses
    (U, C) for them, mask (U,), 1 where a guess counts, and perturbation (U, …), to be added to u.
    `epoch` and `step` count from 0; `progress` runs from 0 to 1.
    """

    x: Tensor
    y: Tensor
    index: Tensor | None = None
    u: Tensor | None = None
    u2: Tensor | None = None
    u_index: Tensor | None = None
    guesses: Tensor | None = None
    mask: Tensor | None = None
    perturbation: Tensor | None = None
    epoch: int = 0
    step: int = 0
    progress: float = 0.0
