"""The whole benchmark as one flat table: for each model and each row a `ratio` to a MixUp step in the same run."""

import os
import platform
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from metamixup.benchmarks.peers import installed
from metamixup.benchmarks.steps import Bench
from metamixup.benchmarks.timing import interleave, matmul, matmul_share, ratios

BATCHES = {"cnn3": 128}  # others: 32
STEPS = {"cnn3": 4}  # in one measurement, so that a short step is not lost in the noise; others: 1
GROWTH: dict[str, list[tuple[str, int, int]]] = {  # (model, batch, classes)
    "batch size": [("cnn3", n, 10) for n in (32, 128, 512)],
    "width": [(f"wrn-10-{k}", 32, 10) for k in (1, 2, 4)],
    "depth": [(f"wrn-{d}-1", 32, 10) for d in (10, 16, 28)],
    "classes": [("cnn3", 128, n) for n in (10, 100, 1000)],
}
GROWING = ("mixup", "head", "default", "exact", "trust alone", "persistent alone")


def measure(model: str, repetitions: int, say: Callable[[str], None] = print, compiled: bool = False) -> dict[str, Any]:
    """{"rows": {name: {"ratio": …}}, "matmul_share": …} of one model."""
    bench = Bench(model, BATCHES.get(model, 32))
    rows = bench.rows()
    for name, estimator in installed().items():
        rows[name] = (bench.learned(estimator, bench.batch), 1)
    if compiled:
        rows["plain, compiled"] = (bench.compiled(say), 1)
    say(f"{model}, batch {bench.batch}: {len(rows)} rows, {repetitions} repetitions")
    steps = STEPS.get(model, 1)
    rows = {
        name: (bench.several(step, steps), steps) if count < steps else (step, count)
        for name, (step, count) in rows.items()
    }
    seconds = interleave({**rows, "matmul": matmul()}, repetitions)
    with FlopCounterMode(display=False) as counter:
        bench.plain()
    share = matmul_share(seconds, "plain", counter.get_total_flops())
    del seconds["matmul"]
    about = {"batch": bench.batch, "threads": torch.get_num_threads(), "repetitions": repetitions}
    return {**about, "matmul_share": round(share, 3), "rows": ratios(seconds, "mixup")}


def grow(repetitions: int, say: Callable[[str], None] = print) -> dict[str, dict[str, dict[str, float]]]:
    """Ratios to MixUp as batch, width, depth and classes grow: a hidden quadratic would show."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for what, cases in GROWTH.items():
        found[what] = {}
        for model, batch, classes in cases:
            bench = Bench(model, batch, classes)
            rows = {k: v for k, v in (bench.rows() | bench.policies_alone()).items() if k in GROWING}
            table = ratios(interleave(rows, repetitions), "mixup")
            found[what][f"{model} batch {batch} classes {classes}"] = {k: v["ratio"] for k, v in table.items()}
            say(f"{what}: {model}, batch {batch}, {classes} classes")
    return found


def run(
    models: list[str], repetitions: int, growth: bool, compiled: bool = False, say: Callable[[str], None] = print
) -> dict[str, Any]:
    machine = {"torch": torch.__version__, "threads": torch.get_num_threads(), "cores": os.cpu_count() or 0}
    result: dict[str, Any] = {"machine": {**machine, "processor": platform.machine()}}
    result["models"] = {model: measure(model, repetitions, say, compiled) for model in models}
    if growth:
        result["growth"] = grow(repetitions, say)
    return result
