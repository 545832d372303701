"""Many images decoded at once by worker processes."""

import hashlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from metamixup.data.folder.decode import TooLarge, decode, without_pillow_warnings
from metamixup.errors import DataError

PER_TASK = 32


class Progress(Protocol):
    """Hears how many of all files are decoded, and which process it waits for that decodes this folder already. It may
    raise to stop the work."""

    def __call__(self, done: int, total: int, waiting_for: str = "") -> None: ...


@dataclass(frozen=True)
class Decoded:
    """What became of one file: the digest of its pixels, or what was wrong with it, which may be its size alone."""

    path: Path
    digest: bytes = b""
    problem: str = ""
    too_large: bool = False


@dataclass(frozen=True)
class Task:
    """Decode a run of files, the first being number `start`; write them at their positions if there is a target."""

    start: int
    files: list[Path]
    shape: tuple[int, int, int]
    target: int | None

    def __call__(self) -> list[Decoded]:
        with without_pillow_warnings():
            return [self._decoded(position, path) for position, path in enumerate(self.files, self.start)]

    def _decoded(self, position: int, path: Path) -> Decoded:
        try:
            pixels = decode(path, self.shape[1], self.shape[0]).tobytes()
        except DataError as problem:
            return Decoded(path, problem=str(problem), too_large=isinstance(problem, TooLarge))
        if self.target is not None:
            os.pwrite(self.target, pixels, position * len(pixels))
        return Decoded(path, hashlib.blake2b(pixels, digest_size=16).digest())


def decode_all(
    files: list[Path],
    shape: tuple[int, int, int],
    target: int | None = None,
    progress: Progress | None = None,
) -> list[Decoded]:
    """Decode every file, in order; into the open file `target` if given. `progress` hears how many of all are done."""
    tasks = [Task(start, files[start : start + PER_TASK], shape, target) for start in range(0, len(files), PER_TASK)]
    found: list[Decoded] = []
    for some in _mapped(tasks):
        found += some
        if progress is not None:
            progress(len(found), len(files))
    return found


def _mapped(tasks: list[Task]) -> Iterator[list[Decoded]]:
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(tasks) == 1:
        yield tasks[0]()
        return
    # Forked workers share the open file, and need not import torch again.
    fork = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(min(workers, len(tasks)), mp_context=fork, initializer=_begin_worker)
    try:
        yield from pool.map(Task.__call__, tasks)
    except BrokenProcessPool as problem:
        raise DataError("a process that decodes images was killed; is there too little memory?") from problem
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """A training process answers signals with a checkpoint, and its children would inherit that. They end with their
    parent, however it dies."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
