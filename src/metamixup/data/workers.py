"""Many images decoded at once, by processes that write straight into the target file."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from metamixup.data.decode import decode
from metamixup.errors import DataError

PER_TASK = 32


@dataclass(frozen=True)
class DecodeInto:
    """One task: a run of files decoded and written at their places; what failed is told, not raised."""

    target: int
    shape: tuple[int, int, int]

    def __call__(self, task: tuple[int, list[Path]]) -> tuple[int, list[str]]:
        start, files = task
        failed = []
        for place, path in enumerate(files, start):
            try:
                pixels = decode(path, self.shape[1], self.shape[0]).tobytes()
            except DataError as problem:
                failed.append(str(problem))
                continue
            os.pwrite(self.target, pixels, place * len(pixels))
        return len(files), failed


def decode_all(files: list[Path], decode_into: DecodeInto, progress: Callable[[int], None]) -> list[str]:
    """Decode every file; the messages of those that failed, in order. `progress` hears how many are done."""
    failed, done = [], 0
    for number, problems in _mapped(decode_into, _tasks(files)):
        failed += problems
        done += number
        progress(done)
    return failed


def _tasks(files: list[Path]) -> Iterator[tuple[int, list[Path]]]:
    for start in range(0, len(files), PER_TASK):
        yield start, files[start : start + PER_TASK]


def _mapped(decode_into: DecodeInto, tasks: Iterable[tuple[int, list[Path]]]) -> Iterator[tuple[int, list[str]]]:
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # Forked workers share the open file, and need not import torch again.
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap(decode_into, tasks)
