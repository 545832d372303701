"""Faults that a process meets from within, for chaos.py: each makes a context in which a command is carried out.

`struck` is shared with the process that waits, so that a fault which came too late is not counted.
"""

import contextlib
import errno
import importlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE, errno.EFBIG, errno.EACCES, errno.ENOENT]
FAILING = {"fsync": 20, "replace": 8, "open": 20, "unlink": 6}  # calls, and how many of them a short run makes
DYING = {
    "os.fsync": 16,
    "os.replace": 8,
    "os.unlink": 6,
    "metamixup.engine.loop.evaluate": 6,
    "metamixup.engine.loop.run_state": 6,
    "metamixup.engine.loop.append_line": 5,
    "metamixup.runs.run.write_gallery": 1,
    "metamixup.runs.run.save_split": 1,
}
Within = Callable[[], AbstractContextManager[Any]]


def failing(chance: random.Random, struck: Any) -> Within:
    """From some call on, one function of the disk fails for a few calls, with one error."""
    name, number = chance.choice([*FAILING]), chance.choice(ERRORS)
    first, real, count = chance.randrange(FAILING[name]), getattr(os, name), [0]

    def call(*given: Any, **named: Any) -> Any:
        ours = isinstance(given[0], int) or "disturbed" in str(given[0])
        count[0] += ours
        if ours and first < count[0] <= first + 3:
            struck.value = 1
            raise OSError(number, os.strerror(number), str(given[0]))
        return real(*given, **named)

    return lambda: mock.patch.object(os, name, call)


def dying(chance: random.Random, struck: Any) -> Within:
    """Killed right before or after one call of what matters most."""
    name = chance.choice([*DYING])
    module, _, function = name.rpartition(".")
    last, before, count = chance.randint(1, DYING[name]), chance.random() < 0.5, [0]
    real = getattr(importlib.import_module(module), function)

    def die() -> None:
        struck.value = 1
        os.kill(os.getpid(), signal.SIGKILL)

    def call(*given: Any, **named: Any) -> Any:
        count[0] += 1
        if before and count[0] == last:
            die()
        done = real(*given, **named)
        if count[0] == last:
            die()
        return done

    return lambda: mock.patch(name, call)


@contextlib.contextmanager
def jumping() -> Iterator[None]:
    """The clock on the wall jumps by a day, back and forth."""
    real, count = time.time, [0]

    def jumped() -> float:
        count[0] += 1
        return real() + 86_400 * (-1) ** count[0]

    with mock.patch.object(time, "time", jumped):
        yield
