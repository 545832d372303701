"""Attacks through what surrounds a run: options, variables of the environment, and the operating system's calls."""

import contextlib
import errno
import os
import random
from dataclasses import replace
from typing import Any
from unittest import mock

from target import Attack, Target, command

ERRORS = [
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EROFS,
    errno.ESTALE,
    errno.EFBIG,
    errno.EACCES,
    errno.ENAMETOOLONG,
]
CALLS = ["fsync", "replace", "rename", "open", "mkdir", "unlink", "ftruncate", "pwrite", "write", "stat", "scandir"]
ENVIRONMENT = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_PORT", "SLURM_NTASKS", "OMP_NUM_THREADS"]
ENVIRONMENT += ["HOME", "METAMIXUP_DATA", "METAMIXUP_CACHE", "XDG_CACHE_HOME", "METAMIXUP_TRUST", "COLUMNS", "TERM"]
OPTIONS = ["--data", "--data-dir", "--model", "--method", "--epochs", "--batch-size", "--lr", "--policy", "--estimator"]
OPTIONS += ["--weights", "--freeze", "--seed", "--threads", "--config", "--out", "--devices", "--nodes", "--set"]
TEXTS = ["", "-1", "0", "1e308", "nan", "inf", "x" * 300, "~nosuchuser/x", "\x1b[2J", "..", "a:b", "=", "\udcff"]
TEXTS += ["epochs=", "epochs=nan", "optimizer.lr=1e308", "policy.name=[]", "a.b.c=1", "/dev/full", "/", "9" * 20]
USES = [["report", "run"], ["export", "run"], ["evaluate", "run"], ["watch", "run"]]
USES += [["train", "--resume", "--out", "run"]] * 3


def option(target: Target, chance: random.Random) -> Attack:
    """One option with a strange value; the data is missing, so that nothing is trained where the option is taken."""
    target.fresh()
    name, text = chance.choice(OPTIONS), chance.choice(TEXTS)
    text = "/dev" if (name, text) == ("--data", "/") else text  # all images of a machine are too many to look for
    rest = [] if name == "--data" else ["--data", "missing"]
    with contextlib.chdir(target.work):
        return replace(command("train", *rest, name, text), garbage=True)


def environment(target: Target, chance: random.Random) -> Attack:
    target.fresh()
    name, text = chance.choice(ENVIRONMENT), chance.choice([t for t in TEXTS if "\0" not in t])
    with contextlib.chdir(target.work), mock.patch.dict(os.environ, {name: text}):
        done = command(*chance.choice([["watch", "run"], ["train", "--data", "missing"], ["evaluate", "run"]]))
    return replace(done, what=f"{name}={text!r} {done.what}")


def system_call(target: Target, chance: random.Random) -> Attack:
    """From some call on, one function of the operating system fails for a few calls, or for good."""
    run, name, number = target.fresh(), chance.choice(CALLS), chance.choice(ERRORS)
    first, real = chance.choice([0, 1, 2, 3, 5, 8, 13, 21]), getattr(os, name)
    last, count = first + chance.choice([1, 3, 10**6]), [0]

    def failing(*given: Any, **named: Any) -> Any:
        first_given = given[0] if given else ""
        opened = isinstance(first_given, int) and first_given > 2
        ours = opened or str(first_given).startswith(("run", str(target.work)))
        count[0] += ours
        if ours and first < count[0] <= last:
            raise OSError(number, os.strerror(number), str(given[0]))
        return real(*given, **named)

    used = chance.choice(USES)
    if used[0] == "train":
        (run / "summary.json").unlink()
    with contextlib.chdir(target.work), mock.patch.object(os, name, failing):
        done = command(*used)
    return replace(done, what=f"{name} fails with {errno.errorcode[number]} after {first}; {done.what}")
