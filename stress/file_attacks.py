"""Attacks through handed files: a node of a checkpoint, a field of a record, a header, something that is no file."""

import contextlib
import copy
import json
import os
import random
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w
import torch
from target import TRAIN, Attack, Target, command

from metamixup.engine.divergence import Diverged
from metamixup.engine.records.epoch import EpochRecord
from metamixup.engine.run_state import load_state
from metamixup.errors import UserError
from metamixup.settings.config import read_toml
from metamixup.settings.dotted import nested

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
    target.renew()  # what was loaded must not meet the next attack
    foreign = isinstance(new, str | list | dict) and new != "dropped" and path[-2:-1] != ("curve",)
    return Attack(what, 0, "", garbage=foreign and "modules" in path)


RECORDS = ["config.toml", "metrics.jsonl", "lambda.jsonl", "gallery.json", "summary.json"]
COMMANDS = [["watch", "run"]] * 4 + [["report", "run"]] * 3 + [["evaluate", "run"], ["export", "run"]]
COMMANDS += [["train", "--resume", "--out", "run"], ["table", "run"]]
GRID_COMMANDS = [["table", "grid", "--format", name] for name in ("md", "html", "csv", "latex", "svg")]
GRID_COMMANDS += [["table", "grid/records.jsonl"], ["table", "grid/table.json"], ["watch", "grid"], ["report", "grid"]]


def record_field(target: Target, chance: random.Random) -> Attack:
    """One field of config.toml, metrics.jsonl, lambda.jsonl, gallery.json or summary.json."""
    run, name = target.fresh(), chance.choice(RECORDS)
    what = alter(run / name, chance)
    return used(run, chance, what)


def alter(file: Path, chance: random.Random) -> str:
    """One value of a TOML, JSON or JSON lines file; tells where it was, and what it became."""
    if file.suffix == ".toml":
        settings, path, new = altered(nested(read_toml(file)), chance, [v for v in VALUES if v is not None])
        file.write_text(tomli_w.dumps(settings) if isinstance(settings, dict) else str(settings), errors="replace")
    elif file.suffix == ".jsonl":
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines, path, new = altered(lines, chance, VALUES)
        file.write_text("\n".join(json.dumps(line) for line in lines) + "\n" if isinstance(lines, list) else str(lines))
    else:
        value, path, new = altered(json.loads(file.read_text()), chance, VALUES)
        file.write_text(json.dumps(value))
    return f"{file.name} {path} = {new!r}"[:150]


def used(run: Path, chance: random.Random, what: str) -> Attack:
    """A command that reads the run after something was done to it."""
    given = chance.choice(COMMANDS)
    if given[0] == "train" and chance.random() < 0.7:
        with contextlib.suppress(IsADirectoryError):
            (run / "summary.json").unlink(missing_ok=True)
    with contextlib.chdir(run.parent):
        done = command(*given)
    return replace(done, what=f"{what}; {done.what}")


def grid_field(target: Target, chance: random.Random) -> Attack:
    """One field of a grid's table, of its records or of one of its runs."""
    grid = target.fresh("grid")
    files = sorted(file for file in grid.rglob("*") if file.suffix in (".toml", ".json", ".jsonl"))
    what = alter(chance.choice(files), chance)
    with contextlib.chdir(target.work):
        done = command(*chance.choice(GRID_COMMANDS))
    return replace(done, what=f"{what}; {done.what}")


def file_kind(target: Target, chance: random.Random) -> Attack:
    """Something else in the place of a file: a folder, a pipe, a link to a device or to itself, nothing, too much."""
    run = target.fresh()
    file = chance.choice(sorted(file for file in run.rglob("*") if file.is_file()))
    name, put = chance.choice([*KINDS_OF_FILE.items()])
    file.unlink()
    put(file)
    return used(run, chance, f"{file.name} is {name}")


def put_huge(file: Path) -> None:
    """It takes no room on the disk, but would in memory."""
    with file.open("wb") as stream:
        stream.truncate(2**35)


KINDS_OF_FILE: dict[str, Callable[[Path], Any]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to a device": lambda file: file.symlink_to("/dev/zero"),
    "a link to itself": lambda file: file.symlink_to(file),
    "empty": Path.touch,
    "huge": put_huge,
    "noise": lambda file: file.write_bytes(random.Random(0).randbytes(1000)),
}


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
