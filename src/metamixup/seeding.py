"""Randomness as a function of (seed, names and numbers): no random state has to be carried or saved."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derived_seed(seed: int, *what: str | int) -> int:
    """A 63-bit seed for one purpose: `derived_seed(run_seed, "partners", step)`."""
    text = "/".join(str(part) for part in (seed, *what))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def derived_generator(seed: int, *what: str | int) -> torch.Generator:
    return torch.Generator().manual_seed(derived_seed(seed, *what))


def seed_everything(seed: int) -> None:
    """The global random state of this process. `torch.manual_seed` also queues a call, with a stack trace, for every
    kind of device that is not there: two milliseconds of each step, and memory that is never given back."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


@contextmanager
def own_randomness(seed: int) -> Iterator[None]:
    """Python, NumPy and torch draw from this seed meanwhile, on the processor, and go on afterwards where they were."""
    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
