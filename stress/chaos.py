"""Every way to die, at random, over supervised, semi-supervised and grid runs: `make chaos`.

    python stress/chaos.py --faults 100 --minutes 30

Each run is killed (SIGKILL), preempted (SIGTERM), starved of disk or has its newest checkpoint damaged, again and
again, and started anew with the same command until it ends. Its weights must then equal, to the bit, those of a twin
that nobody disturbed. Full disks need a small tmpfs, mounted where no other process sees it, so that it is gone when
this one is; where that is not allowed the fault is left out.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch
from small_grid import recipe

from metamixup import cli
from metamixup.runs import run  # noqa: F401
from metamixup.tables import reproduce  # noqa: F401, imported once for all processes

METHODS = {
    "trustmix": [],
    "metamixup-logit": ["--estimator", "exact"],
    "metamixup-logit+apl": ["--set", "ssl.labels=200"],
    "mean-teacher": ["--set", "ssl.labels=200"],
}
COMMON = ["--epochs", "30", "--threads", "1", "--set", "subset=600", "--set", "checkpoint_minutes=0.002"]
GRID = recipe(["baseline", "mixup", "trustmix"], seeds=2, epochs=20)


class Victim:
    """A run or grid that is disturbed until it has had its faults, and its undisturbed twin."""

    def __init__(self, name: str, command: list[str], folder: Path, share: float):
        self.name, self.folder, self.twin, self.share = name, folder / "disturbed", folder / "twin", share
        self.command, self.faults, self.ends, self.lost = command, Counter[str](), 0, list[str]()

    def start(self, out: Path) -> BaseProcess:
        """The command in a process of its own, forked: what it imports has been imported already."""
        more = ["--out", str(out)] if "reproduce" in self.command else ["--out", str(out), "--resume"]
        process = multiprocessing.get_context("fork").Process(
            target=carry_out, args=([*self.command, *more], self.twin.with_suffix(".log")), daemon=True
        )
        process.start()
        return process

    def undisturbed(self) -> None:
        process = self.start(self.twin)
        process.join()
        if process.exitcode:
            raise SystemExit(f"{self.name}: the undisturbed run failed\n{self.twin.with_suffix('.log').read_text()}")

    def disturb(self, chance: random.Random, kinds: list[str]) -> None:
        """Once more from where it is, with one fault."""
        kind = chance.choice(kinds)
        if kind == "damage":
            kind = "damage" if self.damage(chance) else "kill"
        process = self.start(self.folder)
        if not self.ended(process, chance.uniform(0.0, 2.0)):
            if kind == "disk":
                self.fill_disk(process)
            else:
                self.strike(process, kind)
        if process.exitcode == 0:
            self.judge()

    def strike(self, process: BaseProcess, kind: str) -> None:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGTERM if kind == "term" else signal.SIGKILL)
        process.join(120)
        # A process that does not listen yet, since it has only begun, ends by the signal itself.
        if kind == "term" and process.exitcode not in (0, 75, -signal.SIGTERM):
            self.lost.append(f"exit code {process.exitcode} after SIGTERM")
        self.faults[kind] += 1

    def fill_disk(self, process: BaseProcess) -> None:
        """Checkpoints fail for a while; the run goes on, or ends with a line that says so."""
        filler = self.folder.parent / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(2**16)):
                pass
        self.faults["disk"] += 1
        over = self.ended(process, 1.0, full=True)
        filler.unlink()
        if not over:
            process.kill()
            process.join()

    def ended(self, process: BaseProcess, seconds: float, full: bool = False) -> bool:
        """Let it begin, and some time more; is it over?"""
        while process.is_alive() and not any(self.folder.rglob("config.toml")):
            time.sleep(0.01)
        process.join(seconds)
        # On a full disk a run may have to stop, and tell (1).
        if process.exitcode not in (None, 0, *((1,) if full else ())):
            self.lost.append(f"exit code {process.exitcode}; {self.twin.with_suffix('.log').read_text()[-600:]}")
        return process.exitcode is not None

    def damage(self, chance: random.Random) -> bool:
        """Cut the newest checkpoint off or change a byte, where there is another."""
        folders = [f for f in self.folder.rglob("checkpoints") if len(list(f.glob("step-*"))) > 1]
        folders = [f for f in folders if not (f.parent / "summary.json").exists()]
        if not folders:
            return False
        newest = max(chance.choice(folders).glob("step-*"))
        content = bytearray(newest.read_bytes())
        place = chance.randrange(len(content))
        content[place] ^= 0x55
        newest.write_bytes(content[:place] if chance.random() < 0.5 else content)
        self.faults["damage"] += 1
        return True

    def judge(self) -> None:
        """A run that has ended is compared with its twin, and the next one begins."""
        self.ends += 1
        weights = sorted(self.twin.rglob("model.safetensors"))
        other = [self.folder / w.relative_to(self.twin) for w in weights]
        if not all(b.exists() and a.read_bytes() == b.read_bytes() for a, b in zip(weights, other, strict=True)):
            self.lost.append("other weights than the undisturbed run's")
        shutil.rmtree(self.folder)

    def finish(self) -> None:
        process = self.start(self.folder)
        process.join()
        if process.exitcode:
            self.lost.append(f"exit code {process.exitcode} at last")
        else:
            self.judge()


def carry_out(command: list[str], log: Path) -> None:
    code = 1
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with log.open("a") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        try:
            code = cli.run(command)
        except BaseException:
            traceback.print_exc()
        file.flush()
        os._exit(code)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--faults", type=int, default=100)
    asked.add_argument("--minutes", type=float, default=30)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    alone()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        disk = small_disk(Path(name) / "small")
        try:
            return chaos(given.faults, given.minutes, random.Random(given.seed), Path(name), disk)
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
    runs = [(method, ["train", "--method", method, *COMMON, *more]) for method, more in METHODS.items()]
    runs.append(("grid", ["reproduce", str(folder / "grid.toml"), "--jobs", "1"]))
    found = []
    for name, command in runs:
        (folder / name).mkdir()
        # Workers of a grid are started afresh, which takes longer: it has half a share.
        share = faults / (len(runs) - 0.5)
        found.append(Victim(name, command, folder / name, share / 2 if name == "grid" else share))
        if disk is not None and name in ("trustmix", "metamixup-logit+apl"):
            found[-1].folder = disk / name
    return found


def chaos(faults: int, minutes: float, chance: random.Random, folder: Path, disk: Path | None) -> int:
    deadline, known = time.monotonic() + 60 * minutes, victims(folder, disk, faults)
    for victim in known:
        victim.undisturbed()
    while time.monotonic() < deadline:
        unfinished = [v for v in known if v.faults.total() < v.share]
        if not unfinished:
            break
        victim = chance.choice(unfinished)
        victim.disturb(chance, ["kill", "term", "damage", *(["disk"] if disk in victim.folder.parents else [])])
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
