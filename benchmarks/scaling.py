"""Seconds a step of one and of two processes, one thread each, with the same batch for the whole step.

    python benchmarks/scaling.py --epochs 4

The least of the epochs after the first, since a busy machine only ever adds; by the clock, and in processor time of one
process, which others on the machine hardly change. Half the time would be perfect for two.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

STEPS, BATCH = 4, 128
METHODS = {
    "MixUp": ["--method", "mixup"],
    "TrustMix, every fourth step": ["--method", "trustmix"],
    "one step, `head`": ["--method", "metamixup-logit", "--estimator", "head"],
    "one step, `exact`": ["--method", "metamixup-logit", "--estimator", "exact"],
}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--epochs", type=int, default=4)
    asked.add_argument("--model", default="wrn-16-2")
    given = asked.parse_args()
    print("| | one process: clock, processor | each of two: clock, processor | ratio of processor time |")
    print("|---|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        data = write_data(Path(name) / "data.npz")
        for k, (what, method) in enumerate(METHODS.items()):
            common = ["--data", str(data), "--model", given.model, "--epochs", str(given.epochs), *method]
            (clock, busy), (clock2, busy2) = (seconds(Path(name) / f"{k}-{n}", n, common) for n in (1, 2))
            times = f"{clock:.3f} s, {busy:.3f} s | {clock2:.3f} s, {busy2:.3f} s"
            print(f"| {what} | {times} | {busy2 / busy:.2f} |", flush=True)
    return 0


def write_data(path: Path) -> Path:
    """As many random pictures of CIFAR's size as make the steps of an epoch, and 200 for the meta set."""
    count = STEPS * BATCH + 200
    pixels = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    labels = np.arange(count) % 10
    np.savez(path, x_train=pixels, y_train=labels, x_test=pixels[:10], y_test=labels[:10])
    return path


def seconds(out: Path, processes: int, training: list[str]) -> tuple[float, float]:
    """Of a step: by the clock, and of the processor."""
    command = [sys.executable, "-m", "metamixup", "train", *training, "--batch-size", str(BATCH), "--threads", "1"]
    command += ["--set", "meta.per_class=20", "--set", "evaluate_every=1000"]
    done = subprocess.run([*command, "--devices", str(processes), "--out", str(out)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    steps = lines[1]["step"] - lines[0]["step"]
    return min(x["train_seconds"] for x in lines[1:]) / steps, min(x["cpu_seconds"] for x in lines[1:]) / steps


if __name__ == "__main__":
    sys.exit(main())
