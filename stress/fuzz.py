"""Mutated files for every parser that a user's file can reach: data or a told mistake, nothing else.

    python stress/fuzz.py --count 1000000 --seed 0

Each input is a sound file with a few bytes overwritten, cut out, repeated or put in. A crash ends the process, a hang
its CPU-time alarm, a hunger for memory the bound at the end; anything but a told mistake is printed with its seed.
"""

import argparse
import gzip
import hashlib
import io
import json
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import tomli_w
import torch
from PIL import Image
from small_grid import recipe

from metamixup.data.folder.decode import decode
from metamixup.data.formats import cifar
from metamixup.data.formats.idx import read_idx
from metamixup.data.formats.npz import load_npz
from metamixup.data.formats.svhn import read_svhn
from metamixup.data.formats.tar import read_members
from metamixup.engine import checkpoint
from metamixup.engine.records.lambdas import Lambdas, read_pairs
from metamixup.engine.records.run_folder import RunFolder, cut_back, read_lines
from metamixup.errors import UserError
from metamixup.models.pretrained import read_weights
from metamixup.report.grid import grid_context
from metamixup.runs.saved import read_split
from metamixup.settings.config import read_config
from metamixup.settings.schema import Settings
from metamixup.tables.recipe import read_recipe
from metamixup.tables.records import read_records

SECONDS = 10.0  # of CPU time for one input
MEMORY = 512 * 2**20  # beyond what the process takes to begin with
EDGES = [b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\x80", b"[" * 40, b"[" * 3000, b"1e999", b"\x1f\x8b", b'"']
EDGES += [b"-1", b"null", b"true", b"{}", b"[]", b"NaN"]

CELL = {"cell": "digits/cnn3/mixup", "method": "mixup", "error": [1.5, 2.0], "published": {"error": 1.0}, "seconds": 3}
ONES = torch.ones(3)
Parser = tuple[Callable[[Path], Any], bytes, str]


def mutated(sound: bytes, chance: random.Random) -> bytes:
    content = bytearray(sound)
    if chance.random() < 0.3:  # a single bit: most of the file stays sound, and parsers come far
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        return bytes(content)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(min(len(content), 300) if chance.random() < 0.6 else len(content)) if content else 0
        patch = chance.choice(EDGES) if chance.random() < 0.4 else chance.randbytes(chance.randint(1, 6))
        how = chance.randrange(5)
        if how <= 1:
            content[place : place + len(patch)] = patch
        elif how == 2:
            content[place:place] = patch
        elif how == 3:
            del content[place : place + chance.choice([1, 8, len(content)])]
        else:
            content[place:place] = content[place : place + 64]
    return bytes(content)


def parsers() -> dict[str, Parser]:
    pixels = np.random.default_rng(0).integers(0, 256, (6, 4, 4), dtype=np.uint8)
    idx = struct.pack(">BBBB3I", 0, 0, 8, 3, *pixels.shape) + pixels.tobytes()
    return {
        "idx": (lambda path: read_idx(path, 3), idx, "images"),
        "idx.gz": (lambda path: read_idx(path, 3), gzip.compress(idx), "images.gz"),
        "cifar": (_cifar, b"".join(bytes([k]) + bytes(3072) for k in range(2)), "data_batch_1.bin"),
        "cifar.tar": (_archive, _tar(), "cifar.tar"),
        "mat": (read_svhn, _mat(False), "train.mat"),
        "mat.z": (read_svhn, _mat(True), "train.mat"),
        "npz": (load_npz, _npz(), "data.npz"),
        "png": (lambda path: decode(path, 8, 3), _png(), "image.png"),
        "config": (read_config, tomli_w.dumps(Settings().model_dump(exclude_none=True)).encode(), "config.toml"),
        "recipe": (read_recipe, recipe().encode(), "recipe.toml"),
        "checkpoint": (_checkpoint, checkpoint.pack({"a": ONES, "b": [1, {2: "c"}, None]}), "c"),
        "weights": (read_weights, checkpoint.pack({"a": ONES}), "w.safetensors"),
        "split": (lambda path: read_split(RunFolder(path.parent)), checkpoint.pack({"a": ONES}), "split.safetensors"),
        "table": (lambda path: grid_context(path.parent), json.dumps([CELL] * 2).encode(), "table.json"),
        "records": (read_records, json.dumps({"cell": "a/b/c", "seed": 0, "error": 1.5}).encode(), "records.jsonl"),
        "metrics": (_records, b"".join(json.dumps({"epoch": k, "step": k}).encode() + b"\n" for k in range(5)), "m"),
        "lambda": (_lambdas, json.dumps({"epoch": 1, "step": 1, **_line()}).encode(), "lambda.jsonl"),
        "summary": (_summary, json.dumps({"test_error": 1.5, "classes": ["a", "b"]}).encode(), "summary.json"),
    }


def _cifar(path: Path) -> Any:
    return cifar.parse_records(cifar.CIFAR10, path.parent, path.name, np.fromfile(path, np.uint8))


def _archive(path: Path) -> Any:
    return dict(read_members(path, frozenset({"data_batch_1.bin"})))


def _checkpoint(path: Path) -> Any:
    """As an attacker would write it: the checksum fits."""
    content = path.read_bytes()
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    return checkpoint.read(path.rename(path.with_name(f"step-000000001-{digest}.safetensors")))


def _records(path: Path) -> Any:
    return read_lines(path), cut_back(path, 3)


def _lambdas(path: Path) -> Any:
    return [read_pairs(line) for line in read_lines(path)]


def _summary(path: Path) -> Any:
    return RunFolder(path.parent).read_summary()


def _line() -> dict[str, Any]:
    lambdas = Lambdas(3)
    lambdas.add(torch.rand(6), torch.eye(3).repeat(2, 1), torch.arange(6).flip(0))
    return lambdas.line()


def _tar() -> bytes:
    import tarfile

    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo("x/data_batch_1.bin")
        entry.size = 700
        archive.addfile(entry, io.BytesIO(bytes(700)))
    return target.getvalue()


def _mat(packed: bool) -> bytes:
    target = io.BytesIO()
    arrays = {"X": np.zeros((4, 4, 3, 5), np.uint8), "y": np.arange(1, 6)[:, None].astype(np.uint8)}
    scipy.io.savemat(target, arrays, do_compression=packed)
    return target.getvalue()


def _npz() -> bytes:
    target = io.BytesIO()
    np.savez(target, x_train=np.zeros((6, 4, 4), np.uint8), y_train=np.arange(6) % 2)
    return target.getvalue()


def _png() -> bytes:
    target = io.BytesIO()
    Image.fromarray(np.zeros((9, 7, 3), np.uint8)).save(target, "PNG")
    return target.getvalue()


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--count", type=int, default=1_000_000)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        return fuzz(given.count, given.seed, Path(folder))


def fuzz(count: int, seed: int, folder: Path) -> int:
    signal.signal(signal.SIGVTALRM, _too_long)
    known, told, bugs = parsers(), Counter[str](), 0
    for name, (parse, sound, file) in known.items():
        # Memory that stays taken is taken before the count.
        if attempt(parse, folder / file, sound) != "read":
            raise SystemExit(f"the sound file for {name} was refused")
        (folder / file).unlink(missing_ok=True)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    names = list(known)
    for k in range(count):
        name = names[k % len(names)]
        parse, sound, file = known[name]
        try:
            told[f"{name} {attempt(parse, folder / file, mutated(sound, random.Random(f'{seed}/{k}')))}"] += 1
        except Exception as error:
            bugs += 1
            print(f"BUG input {k} ({name}): {type(error).__name__}: {error}", flush=True)
        if k % 50_000 == 49_999:
            print(f"{k + 1:,} inputs, {bugs} bugs, {time.monotonic() - started:,.0f} s", flush=True)
            for left in folder.iterdir():
                left.unlink()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(f"{count:,} inputs, {bugs} bugs, {grown / 2**20:.0f} MB more at the peak (bound {MEMORY / 2**20:.0f})")
    print(", ".join(f"{key}: {value:,}" for key, value in sorted(told.items())))
    return 0 if not bugs and grown < MEMORY else 1


def attempt(parse: Callable[[Path], Any], path: Path, content: bytes) -> str:
    path.write_bytes(content)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        parse(path)
        return "read"
    except (UserError, ValueError) as error:
        if isinstance(error, ValueError) and parse not in (_checkpoint, _lambdas):
            raise
        return "refused"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s of CPU time")


if __name__ == "__main__":
    sys.exit(main())
