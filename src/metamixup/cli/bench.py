"""`metamixup bench`: what each estimator and the default policy cost beside MixUp, and what they are worth."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from metamixup.storage import as_json, read_record, write_output


def bench(
    model: Annotated[list[str] | None, typer.Option(help="A model to measure; may be given again.")] = None,
    repetitions: Annotated[int, typer.Option(help="Interleaved repetitions.", min=1)] = 10,
    threads: Annotated[int | None, typer.Option(help="Threads. [default: the cores of this process]")] = None,
    growth: Annotated[bool, typer.Option("--growth", help="Also over batch size, width, depth and classes.")] = False,
    quality: Annotated[bool, typer.Option("--quality", help="Also what each estimator's direction is worth.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Also peak memory, in processes of their own.")] = False,
    compiled: Annotated[bool, typer.Option("--compiled", help="Also the plain step under torch.compile.")] = False,
    out: Annotated[Path | None, typer.Option("--json", help="Write everything here.")] = None,
    source: Annotated[
        list[Path] | None, typer.Option("--from", help="Measure nothing: take this JSON; more of them are joined.")
    ] = None,
) -> None:
    """Measure steps side by side: ratios to a MixUp step of the same run."""
    if not source:
        result = _measured(model or ["cnn3", "wrn-28-2"], repetitions, threads, growth, quality, memory, compiled)
    else:
        result = joined([_read(path) for path in source])
    if out is not None:
        write_output(out, as_json(result, indent=1) + b"\n")
    show(result)


def _read(path: Path) -> dict[str, Any]:
    from metamixup.errors import UserError

    try:
        found = json.loads(read_record(path))
        if isinstance(found, dict) and {"machine", "models"} <= found.keys():
            return found
        raise ValueError("no machine and models in it")
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is no JSON of `metamixup bench --json`: {error}") from error


def _measured(
    models: list[str],
    repetitions: int,
    threads: int | None,
    growth: bool,
    quality: bool,
    memory: bool,
    compiled: bool,
) -> dict[str, Any]:
    import torch

    from metamixup.benchmarks import memory as peak
    from metamixup.benchmarks import quality as worth
    from metamixup.benchmarks.run import BATCHES, run
    from metamixup.engine.runtime import usable_threads

    torch.set_num_threads(threads or usable_threads())
    torch.set_flush_denormal(True)
    started = time.perf_counter()
    result = run(models, repetitions, growth, compiled)
    if memory and peak.can_tell():
        result["memory"] = {name: peak.peaks(name, BATCHES.get(name, 32)) for name in models}
        policies = ("mixup", "with trust", "with persistent")
        result["memory"]["cnn3, 1000 classes"] = peak.peaks("cnn3", BATCHES["cnn3"], 1000, policies)
    if quality:
        result["quality"] = worth.measure()
    result["machine"]["minutes"] = round((time.perf_counter() - started) / 60, 1)
    return result


def joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Measurements that were taken in several runs, as one; where two have the same thing, the later one counts."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            whole[key] = {**whole.get(key, {}), **value}
    return whole


def show(result: dict[str, Any]) -> None:
    print(f"measured in {result['machine'].get('minutes', 0)} minutes")
    for name, found in result["models"].items():
        print(f"\n{name}, batch {found['batch']}")
        if "matmul_share" in found:
            print(f"  the plain step runs at {found['matmul_share']:.0%} of the matrix-product rate")
        for row, value in found["rows"].items():
            spread = f"{value['low']:.2f}–{value['high']:.2f}"
            print(f"  {row:18} {value['ratio']:6.2f} × MixUp  ({spread})  {value['milliseconds']:9.1f} ms")
    for stage, table in result.get("quality", {}).items():
        print(f"\n{stage}: cosine with exact, decrease of the meta loss on the meta batch and on held-out images")
        for row, value in table.items():
            print(f"  {row:22} {value['cosine']:5.2f} {value['meta']:9.5f} {value['held_out']:9.5f}")
    for key in ("memory", "growth"):
        for name, table in result.get(key, {}).items():
            print(f"\n{key}: {name}")
            for row, value in table.items():
                print(f"  {row:40} {value}")
