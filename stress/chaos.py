"""Every way to die, at random, over single, two-rank, semi-supervised and grid runs and over the decoding of a folder.

    python stress/chaos.py --faults 100 --minutes 30        (`make chaos`)

Each run is killed (SIGKILL: at any time, or right before or after what matters most), preempted (SIGTERM), interrupted
twice (Ctrl-C), starved of disk, refused by a failing disk (every errno), robbed of its folder, met by a stale lock or a
jumping clock, or has its newest checkpoint damaged, again and again, and is started anew with the same command until it
ends. Its weights, its record of λ and its scores must then equal, to the bit, those of a twin that nobody disturbed.
Full disks need a small tmpfs, mounted where no other process sees it, so that it is gone when this one is; where that
is not allowed the fault is left out. Processes are forked, so that imports are paid once: a fault costs half a second.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from small_grid import recipe
from victims import Victim

from metamixup.report import page  # noqa: F401
from metamixup.runs import run  # noqa: F401
from metamixup.tables import reproduce  # noqa: F401, imported once for all processes

KINDS = ["kill", "kill", "moment", "moment", "term", "damage", "errno", "errno", "twice", "lock", "vanish", "clock"]
OF_ONE_RUN = ("lock", "vanish", "errno", "moment")  # a grid's runs are in processes of their own
METHODS = {
    "trustmix": [],
    "metamixup-logit": ["--estimator", "exact"],
    "metamixup-logit+apl": ["--set", "ssl.labels=20"],
    "mean-teacher": ["--set", "ssl.labels=20"],
}
COMMON = ["--epochs", "6", "--batch-size", "8", "--threads", "1", "--model", "cnn3", "--set", "meta.per_class=4"]
COMMON += ["--set", "checkpoint_minutes=0.0005"]
GRID = recipe(["baseline", "mixup", "trustmix"], seeds=2, epochs=3)
# The workers of a grid start Python anew, and ranks must meet: a fault costs ten and three times as much there.
SHARES = {"grid": 0.1, "two ranks": 0.4}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--faults", type=int, default=100)
    asked.add_argument("--minutes", type=float, default=30)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--only", nargs="*", default=[], help="names of victims, for instance: decoding grid")
    given = asked.parse_args()
    alone()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        disk = small_disk(Path(name) / "small")
        try:
            return chaos(given.faults, given.minutes, random.Random(given.seed), Path(name), disk, given.only)
        finally:
            for process in multiprocessing.active_children():
                process.kill()
            if disk is not None:
                subprocess.run(["umount", "--lazy", str(disk)], check=False)


def alone() -> bool:
    """Start this script again where it sees its own mounts only; is this the second time?"""
    if "CHAOS_ALONE" in os.environ:
        return True
    own = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if shutil.which("unshare") and subprocess.run([*own, "true"], capture_output=True, check=False).returncode == 0:
        os.environ["CHAOS_ALONE"] = "1"
        os.execvp(own[0], [*own, sys.executable, *sys.argv])
    return False


def small_disk(place: Path) -> Path | None:
    """A tmpfs of a few megabytes; None where there can be none."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)]
    return place if alone() and subprocess.run(mount, capture_output=True, check=False).returncode == 0 else None


def victims(folder: Path, disk: Path | None, faults: int) -> list[Victim]:
    (folder / "grid.toml").write_text(GRID)
    write_images(folder / "images")
    data = ["--data", str(write_pixels(folder / "pixels.npz"))]
    runs: list[tuple[str, list[str], dict[str, Any]]] = [
        (method, ["train", "--method", method, *data, *COMMON, *more], {}) for method, more in METHODS.items()
    ]
    runs.append(("two ranks", ["train", *data, *COMMON], {"ranks": 2}))
    decoded = ["--data", str(folder / "images"), "--epochs", "1", "--threads", "1", "--set", "image_size=32"]
    runs.append(("decoding", ["train", "--model", "cnn3", *decoded], {"phase": ""}))
    runs.append(("grid", ["reproduce", str(folder / "grid.toml"), "--jobs", "1"], {}))
    found = []
    for name, command, more in runs:
        (folder / name).mkdir()
        share = faults * SHARES.get(name, 1.0) / sum(SHARES.get(n, 1.0) for n, *_ in runs)
        found.append(Victim(name, command, folder / name, share, **more))
        if disk is not None and name in ("trustmix", "metamixup-logit+apl"):
            found[-1].folder = disk / name
    return found


def write_pixels(path: Path) -> Path:
    """So few and small images that a run takes seconds."""
    pixels, labels = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 1), dtype=np.uint8), np.arange(60) % 2
    np.savez(path, x_train=pixels, y_train=labels, x_test=pixels[:20], y_test=labels[:20])
    return path


def write_images(folder: Path) -> None:
    """Photos enough for several decoders."""
    chance = np.random.default_rng(0)
    for k in range(200):
        place = folder / f"class{k % 2}" / f"{k}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(chance.integers(0, 256, (160, 160, 3), dtype=np.uint8)).save(place)


def chaos(faults: int, minutes: float, chance: random.Random, folder: Path, disk: Path | None, only: list[str]) -> int:
    known = [victim for victim in victims(folder, disk, faults) if not only or victim.name in only]
    for victim in known:
        victim.share = faults / len(known) if only else victim.share
        victim.undisturbed()
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline:
        unfinished = [v for v in known if v.faults.total() < v.share]
        if not unfinished:
            break
        victim = chance.choice(unfinished)
        kinds = [*KINDS, "report", *(["disk"] if disk in victim.folder.parents else [])]
        kind = chance.choice(kinds)
        if kind == "report":
            victim.disturb_page(chance)
        else:
            victim.disturb("kill" if victim.name == "grid" and kind in OF_ONE_RUN else kind, chance)
    for victim in known:
        victim.finish()
        told = "; ".join(victim.lost) or "every end bit-identical to the undisturbed run"
        print(f"{victim.name}: {dict(victim.faults)}, {victim.ends} ends, {told}", flush=True)
    total = sum((victim.faults for victim in known), Counter[str]())
    lost = sum(len(victim.lost) for victim in known)
    print(f"{total.total()} faults ({dict(total)}), {sum(v.ends for v in known)} runs ended, {lost} lost")
    return 1 if lost or total.total() < faults else 0


if __name__ == "__main__":
    sys.exit(main())
