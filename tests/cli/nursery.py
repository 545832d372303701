"""Processes that run `metamixup` commands and are killed: a fork each, so that torch is imported only once.

`nursery.py OUT KILLS SEED`: OUT/whole is left alone; OUT/killed gets kill -9 at random moments, each followed by
--resume, and then goes to its end; OUT/terminated gets SIGTERM. What happened is printed as JSON.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import metamixup.cli.app
import metamixup.runs.run  # noqa: F401 before the first fork
from metamixup.cli import run

TRAIN = ["train", "--epochs", "3", "--threads", "1", "--set", "checkpoint_minutes=0.0005", "--set", "subset=600"]


def start(*arguments: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    code = 1
    try:
        code = run(list(arguments))
    finally:
        os._exit(code)


def finish(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill(out: str, count: int, seed: int) -> int:
    """How many of the kills came before the run's end."""
    began = time.monotonic()
    assert finish(start(*TRAIN, "--out", f"{out}/whole")) == 0
    alone = time.monotonic() - began
    draw, killed = random.Random(seed), 0
    for _ in range(count):
        pid = start(*TRAIN, "--out", f"{out}/killed", "--resume")
        time.sleep(draw.uniform(0, 0.5 * alone))
        os.kill(pid, signal.SIGKILL)
        killed += finish(pid) == -signal.SIGKILL
    assert finish(start(*TRAIN, "--out", f"{out}/killed", "--resume")) == 0
    return killed


def terminate(out: str) -> int:
    """The exit code after SIGTERM in the middle of training."""
    pid = start(*TRAIN, "--set", "epochs=1000", "--out", f"{out}/terminated")
    while not list(Path(out).glob("terminated/checkpoints/*.safetensors")):
        time.sleep(0.01)
    os.kill(pid, signal.SIGTERM)
    return finish(pid)


if __name__ == "__main__":
    place, count, seed = sys.argv[1:]
    print(json.dumps({"killed": kill(place, int(count), int(seed)), "terminated": terminate(place)}))
