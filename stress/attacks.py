"""The attacks of mutate.py: each alters one thing and tells what was done, the exit code, and what was said."""

import contextlib
import copy
import errno
import io
import json
import os
import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tomli_w
import torch

from metamixup import cli
from metamixup.cli import app  # noqa: F401, imported once for all attacks
from metamixup.engine import checkpoint
from metamixup.engine.divergence import Diverged
from metamixup.engine.records.epoch import EpochRecord
from metamixup.engine.records.run_folder import RunFolder
from metamixup.engine.run_state import load_state
from metamixup.engine.runtime import Runtime
from metamixup.engine.step import Stepper
from metamixup.errors import UserError
from metamixup.settings.build import build_data, build_training
from metamixup.settings.config import read_config, read_toml
from metamixup.settings.dotted import nested

TRAIN = ["--epochs", "2", "--batch-size", "10", "--threads", "1", "--model", "cnn3", "--set", "meta.per_class=4"]
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    2**40,
    1e308,
    float("nan"),
    "",
    "x",
    "\x1b[2J",
    "9" * 400,
    [],
    {},
    [[1]],
    {"a": 1},
]
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
CALLS = ["fsync", "replace", "rename", "open", "mkdir", "unlink", "ftruncate", "pwrite", "write", "stat"]
ENVIRONMENT = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_PORT", "SLURM_NTASKS", "OMP_NUM_THREADS"]
ENVIRONMENT += ["HOME", "METAMIXUP_DATA", "METAMIXUP_CACHE", "XDG_CACHE_HOME", "METAMIXUP_TRUST", "COLUMNS", "TERM"]
OPTIONS = ["--data", "--data-dir", "--model", "--method", "--epochs", "--batch-size", "--lr", "--policy", "--estimator"]
OPTIONS += ["--weights", "--freeze", "--seed", "--threads", "--config", "--out", "--devices", "--nodes", "--set"]
TEXTS = ["", "-1", "0", "1e308", "nan", "inf", "x" * 300, "~nosuchuser/x", "\x1b[2J", "../..", "a:b", "=", "\udcff"]
TEXTS += ["epochs=", "epochs=nan", "optimizer.lr=1e308", "policy.name=[]", "a.b.c=1", "/dev/full", "/", "9" * 20]


@dataclass
class Attack:
    """What was done, the exit code, and what was said."""

    what: str
    code: int
    said: str
    garbage: bool = False  # must it be refused?


class Target:
    """A finished run, its data, and a neighbour that nobody may touch."""

    def __init__(self, root: Path):
        self.root, self.sound, self.run = root, root / "sound", root / "work" / "run"
        self.neighbour = root / "neighbour"
        self.neighbour.mkdir()
        (self.neighbour / "file").write_text("mine")
        pixels = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
        labels = np.arange(40) % 2
        np.savez(root / "data.npz", x_train=pixels, y_train=labels, x_test=pixels[:8], y_test=labels[:8])
        self.data = (root / "data.npz").read_bytes()
        done = command("train", "--data", str(root / "data.npz"), *TRAIN, "--out", str(self.sound))
        if done.code:
            raise SystemExit(done.said)
        settings = read_config(RunFolder(self.sound).config)
        images = build_data(settings)
        self.make = lambda: build_training(settings, images)
        self.training, self.runtime = self.make(), Runtime(1, device="cpu")
        self.stepper = Stepper(self.training, self.runtime, print)
        found, _ = checkpoint.newest(self.sound / "checkpoints")
        assert found is not None
        self.found = found

    def fresh(self) -> Path:
        """The run as it was, as the current folder's `run`."""
        shutil.rmtree(self.root / "work", ignore_errors=True)
        shutil.copytree(self.sound, self.run)
        (self.root / "data.npz").write_bytes(self.data)
        return self.run

    def touched(self) -> bool:
        known = {"sound", "work", "neighbour", "data.npz"}
        strange = {path.name for path in self.root.iterdir()} - known
        return bool(strange) or [p.name for p in self.neighbour.iterdir()] != ["file"]


def command(*arguments: str) -> Attack:
    said, code = io.StringIO(), 99
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = cli.run([*arguments])
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except Exception:
            traceback.print_exc()
    return Attack(" ".join(arguments), code, said.getvalue())


def paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of nested data is."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


def altered(value: Any, chance: random.Random, values: list[Any]) -> tuple[Any, tuple[Any, ...], Any]:
    """A copy with one node replaced or dropped; where, and by what."""
    value, path = copy.deepcopy(value), chance.choice([*paths(value)][1:] or [()])
    new = chance.choice(values)
    if not path:
        return new, path, new
    node = value
    for key in path[:-1]:
        node = node[key]
    if chance.random() < 0.15 and isinstance(node, dict):
        del node[path[-1]]
        return value, path, "dropped"
    node[path[-1]] = new
    return value, path, new


def checkpoint_node(target: Target, chance: random.Random) -> Attack:
    """Nothing is loaded and a sentence says why, or the next step can be taken."""
    tensors = [torch.zeros(3, 1, 2), torch.zeros(0, dtype=torch.int32), torch.full((2,), torch.nan)]
    state, path, new = altered(target.found.state, chance, [*VALUES, *tensors])
    what = f"checkpoint {path} = {new!r}"[:200]
    try:
        load_state(replace(target.found, state=state), target.training, EpochRecord(target.training.num_classes))
        if chance.random() < 0.2:
            target.stepper(target.found.step - 1)
    except (UserError, Diverged) as error:
        return Attack(what, 2, str(error))
    except Exception:
        return Attack(what, 99, traceback.format_exc())
    target.training = target.make()  # what was loaded must not meet the next attack
    target.stepper = Stepper(target.training, target.runtime, print)
    foreign = isinstance(new, str | list | dict) and new != "dropped" and path[-2:-1] != ("curve",)
    return Attack(what, 0, "", garbage=foreign and "modules" in path)


RECORDS = ["config.toml", "metrics.jsonl", "lambda.jsonl", "gallery.json", "summary.json"]
COMMANDS = [["watch", "run"]] * 4 + [["report", "run"]] * 3 + [["evaluate", "run"], ["export", "run"]]
COMMANDS += [["train", "--resume", "--out", "run"]]


def record_field(target: Target, chance: random.Random) -> Attack:
    """One field of config.toml, metrics.jsonl, lambda.jsonl, gallery.json or summary.json."""
    run, name = target.fresh(), chance.choice(RECORDS)
    file, garbage = run / name, False
    if name == "config.toml":
        settings, path, new = altered(nested(read_toml(file)), chance, [v for v in VALUES if v is not None])
        file.write_text(tomli_w.dumps(settings) if isinstance(settings, dict) else str(settings), errors="replace")
    elif name.endswith(".jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines, path, new = altered(lines, chance, VALUES)
        file.write_text("\n".join(json.dumps(line) for line in lines) + "\n" if isinstance(lines, list) else str(lines))
    else:
        value, path, new = altered(json.loads(file.read_text()), chance, VALUES)
        file.write_text(json.dumps(value))
    given = chance.choice(COMMANDS)
    if given[0] == "train" and chance.random() < 0.7:
        (run / "summary.json").unlink()
    with contextlib.chdir(run.parent):
        done = command(*given)
    return replace(done, what=f"{name} {path} = {new!r}; {done.what}"[:200], garbage=garbage)


def file_header(target: Target, chance: random.Random) -> Attack:
    """A few bytes near the beginning of a file, or of the headers inside an archive."""
    run = target.fresh()
    file, given = chance.choice(
        [
            (target.root / "data.npz", ["train", "--data", str(target.root / "data.npz"), *TRAIN, "--out", "new"]),
            (run / "model.safetensors", ["evaluate", "run"]),
            (run / "split.safetensors", ["train", "--resume", "--out", "run"]),
            (next((run / "checkpoints").glob("step-*")), ["train", "--resume", "--out", "run"]),
        ]
    )
    content = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 3)):
        content[chance.randrange(min(len(content), 120))] = chance.randrange(256)
    file.write_bytes(content)
    if "run" in given[-1:]:
        (run / "summary.json").unlink()
    with contextlib.chdir(run.parent):
        done = command(*given)
    return replace(done, what=f"header of {file.name}; {done.what}")


def option(target: Target, chance: random.Random) -> Attack:
    """One option with a strange value; the data is missing, so that nothing is trained where the option is taken."""
    target.fresh()
    name, text = chance.choice(OPTIONS), chance.choice(TEXTS)
    rest = [] if name == "--data" else ["--data", "missing"]
    with contextlib.chdir(target.run.parent):
        return replace(command("train", *rest, name, text), garbage=True)


def environment(target: Target, chance: random.Random) -> Attack:
    target.fresh()
    name, text = chance.choice(ENVIRONMENT), chance.choice([t for t in TEXTS if "\0" not in t])
    with contextlib.chdir(target.run.parent), mock.patch.dict(os.environ, {name: text}):
        done = command(*chance.choice([["watch", "run"], ["train", "--data", "missing"], ["evaluate", "run"]]))
    return replace(done, what=f"{name}={text!r} {done.what}")


def system_call(target: Target, chance: random.Random) -> Attack:
    """The n-th call of one function of the operating system fails."""
    run, name, number = target.fresh(), chance.choice(CALLS), chance.choice(ERRORS)
    left, real = [chance.choice([0, 1, 2, 3, 5, 8, 13, 21])], getattr(os, name)

    def failing(*given: Any, **named: Any) -> Any:
        ours = "work" in str(given[0]) or (isinstance(given[0], int) and given[0] > 2)
        left[0] -= ours
        if ours and left[0] < 0:
            raise OSError(number, os.strerror(number), str(given[0]))
        return real(*given, **named)

    given = chance.choice([["report", "run"], ["export", "run"], ["train", "--resume", "--out", "run"]])
    if given[0] == "train":
        (run / "summary.json").unlink()
    with contextlib.chdir(run.parent), mock.patch.object(os, name, failing):
        done = command(*given)
    return replace(done, what=f"{name} fails with {errno.errorcode[number]}; {done.what}")


KINDS: dict[Callable[[Target, random.Random], Attack], int] = {
    checkpoint_node: 35,
    record_field: 25,
    file_header: 5,
    option: 20,
    environment: 8,
    system_call: 7,
}
