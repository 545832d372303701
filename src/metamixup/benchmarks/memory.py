"""Peak memory of a process that takes a few steps of one kind: each row in a process of its own."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import torch
from metamixup.benchmarks.memory import high_water
from metamixup.benchmarks.steps import Bench
torch.set_num_threads(1)
bench = Bench(sys.argv[1], int(sys.argv[2]), int(sys.argv[4]))
rows = bench.rows() | bench.policies_in_steps()
start = high_water()
for _ in range(3):
    rows[sys.argv[3]][0]()
print(start, high_water())
"""


STATUS = Path("/proc/self/status")


def can_tell() -> bool:
    """Linux alone tells a process's own peak."""
    return STATUS.exists()


def high_water() -> int:
    """The most kilobytes that this process had so far. Not by getrusage, whose figure a child inherits."""
    for line in STATUS.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise RuntimeError("/proc/self/status does not tell the peak memory")


def peak(model: str, batch: int, row: str, classes: int = 10) -> tuple[float, float]:
    """(before, at the peak) in megabytes."""
    command = [sys.executable, "-c", PROGRAM, model, str(batch), row, str(classes)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(told[0]) / 1024, int(told[1]) / 1024


def peaks(
    model: str,
    batch: int,
    classes: int = 10,
    rows: tuple[str, ...] = ("plain", "head", "head-features", "exact", "default"),
) -> dict[str, float]:
    """What each row needs beyond the idle process, as a ratio to the first row; and the first one's megabytes."""
    needed = {row: max(peak_ - start, 1.0) for row in rows for start, peak_ in [peak(model, batch, row, classes)]}
    first = needed[rows[0]]
    return {f"{rows[0]} (MB)": round(first, 1)} | {row: round(value / first, 2) for row, value in needed.items()}
