"""Interleaved repetitions: every row is measured once before any is measured twice, so that a busy machine disturbs
all of them alike. Only ratios within one run mean anything. One thread is timed by the seconds it had of a core, which
other processes cannot stretch; several are timed by the clock."""

import statistics
import time
from collections.abc import Callable, Mapping

import torch

Timed = Callable[[], None]


def interleave(rows: Mapping[str, tuple[Timed, int]], repetitions: int) -> dict[str, list[float]]:
    """Seconds a step, for each row and repetition; a first round warms up and is thrown away."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    for repetition in range(repetitions + 1):
        for name, (step, count) in rows.items():
            started = clock()
            step()
            if repetition:
                seconds[name].append((clock() - started) / count)
    return seconds


def ratios(seconds: Mapping[str, list[float]], to: str) -> dict[str, dict[str, float]]:
    """The median over repetitions of each row's ratio to row `to` of the same repetition, and its spread."""
    found = {}
    for name, times in seconds.items():
        each = [a / b for a, b in zip(times, seconds[to], strict=True)]
        low, _, high = statistics.quantiles(each, n=4) if len(each) > 1 else (each[0],) * 3
        found[name] = {
            "ratio": round(statistics.median(each), 3),
            "low": round(low, 3),
            "high": round(high, 3),
            "milliseconds": round(1000 * statistics.median(times), 2),
        }
    return found


def matmul(size: int = 1024, times: int = 10) -> tuple[Timed, int]:
    """This machine's own matrix product as one more row, so that it is as disturbed as the others are."""
    a, b = torch.randn(2, size, size)

    def run() -> None:
        for _ in range(times):
            a @ b

    return run, times


def matmul_share(seconds: Mapping[str, list[float]], row: str, operations: float, size: int = 1024) -> float:
    """The rate at which a row does its floating-point operations, beside that of row `matmul` in the same run."""
    each = [m / t for m, t in zip(seconds["matmul"], seconds[row], strict=True)]
    return operations / (2 * size**3) * statistics.median(each)
