"""A command that is disturbed until it has had its faults, and its undisturbed twin: the parts of chaos.py."""

import contextlib
import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults import dying, failing, jumping
from running import FORK, Running

# Exit codes that are no loss: done, told, interrupted once or twice, or by a signal that came before anybody listened.
TERM, TWICE, TOLD = (0, 75, -signal.SIGTERM), (0, 75, 130, -signal.SIGINT), (0, 2)
ALLOWED = {"term": TERM, "twice": TWICE, "errno": TOLD, "vanish": TOLD, "disk": TOLD}
KILLED = ("kill", "moment", "damage", "lock", "clock")
CUT_SHORT = ("vanish", "disk")  # these runs may go on; they are killed after a while
WITHIN = {"errno": failing, "moment": dying}


Nothing = contextlib.nullcontext


class Victim:
    """ranks: processes that share the run; phase: the file whose appearance opens the time of faults, nothing for
    faults from the first moment on (decoding)."""

    def __init__(
        self, name: str, command: list[str], folder: Path, share: float, ranks: int = 1, phase: str = "config.toml"
    ):
        self.name, self.folder, self.twin, self.share = name, folder / "disturbed", folder / "twin", share
        self.command, self.ranks, self.phase, self.cache = command, ranks, phase, folder / "cache"
        self.usual = 1.0  # seconds that the undisturbed run takes
        self.faults, self.ends, self.lost, self.log = Counter[str](), 0, list[str](), folder / "log"

    def start(self, out: Path, within: Callable[[], Any] = Nothing) -> Running:
        more = ["--out", str(out)] if "reproduce" in self.command else ["--out", str(out), "--resume"]
        return Running([*self.command, *more], self.log, self.ranks, {"METAMIXUP_CACHE": str(self.cache)}, within)

    def undisturbed(self) -> None:
        began = time.monotonic()
        running = self.start(self.twin)
        running.join()
        if running.codes != [0] * self.ranks:
            raise SystemExit(f"{self.name}: the undisturbed run failed\n{self.log.read_text()}")
        self.usual = time.monotonic() - began
        shutil.rmtree(self.cache, ignore_errors=True)

    def disturb(self, kind: str, chance: random.Random) -> None:
        """Once more from where it is, with one fault; it counts if it came in time."""
        before = {"damage": self.damage, "lock": self.leave_lock}.get(kind)
        if before is not None:
            kind = kind if before(chance) else "kill"
        struck = FORK.Value("i", int(kind in ("damage", "lock", "clock")))
        within = WITHIN[kind](chance, struck) if kind in WITHIN else jumping if kind == "clock" else Nothing
        running = self.start(self.folder, within)
        if kind not in WITHIN:
            self.wait(running, chance.uniform(0.0, 0.5 * self.usual))
        if running.alive:
            struck.value |= kind not in WITHIN
            getattr(self, f"while_{kind}", self.while_kill)(running, chance)
        self.faults[kind] += struck.value
        self.check(running, ALLOWED.get(kind, (0,)), kind)
        running.kill()
        if kind == "vanish":  # what a run without its folder left behind is no run
            shutil.rmtree(self.folder, ignore_errors=True)
        elif running.codes == [0] * self.ranks:
            self.judge()

    def wait(self, running: Running, seconds: float) -> None:
        while running.alive and self.phase and not any(self.folder.rglob(self.phase)):
            time.sleep(0.01)
        running.join(seconds)

    def check(self, running: Running, allowed: tuple[int, ...], kind: str) -> None:
        gone = (1, 2, -signal.SIGKILL) if self.ranks > 1 else (-signal.SIGKILL,) if kind in KILLED else ()
        strange = [code for code in running.codes if code not in (*allowed, *gone, None)]
        if strange or (None in running.codes and kind not in CUT_SHORT):
            self.lost.append(f"exit codes {running.codes} after {kind}; {self.log.read_text()[-600:]}")

    def while_kill(self, running: Running, chance: random.Random) -> None:
        running.send(signal.SIGKILL, chance.randrange(self.ranks))
        running.join(120)

    def while_term(self, running: Running, chance: random.Random) -> None:
        running.send(signal.SIGTERM, chance.randrange(self.ranks))
        running.join(120)

    def while_twice(self, running: Running, chance: random.Random) -> None:
        for _ in range(2):
            running.send(signal.SIGINT, 0)
            time.sleep(chance.uniform(0.0, 0.1))
        running.join(120)

    def while_errno(self, running: Running, chance: random.Random) -> None:
        running.join(120)

    def while_moment(self, running: Running, chance: random.Random) -> None:
        running.join(120)

    def while_vanish(self, running: Running, chance: random.Random) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        running.join(2.0)

    def while_disk(self, running: Running, chance: random.Random) -> None:
        """Checkpoints fail for a while; the run goes on, or ends with a line that says so."""
        filler = self.folder.parent / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(2**16)):
                pass
        running.join(1.0)
        filler.unlink()

    def leave_lock(self, chance: random.Random) -> bool:
        """A lock file that names a living process, as a killed run and a reused number leave it."""
        if not self.folder.is_dir():
            return False
        (self.folder / ".lock").write_text(f"{os.getpid()}\n")
        return True

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
        return True

    def judge(self) -> None:
        """A run that has ended is compared with its twin, and the next one begins."""
        self.ends += 1
        told = sorted([*self.twin.rglob("model.safetensors"), *self.twin.rglob("lambda.jsonl")])
        for path in told:
            other = self.folder / path.relative_to(self.twin)
            if not other.exists() or path.read_bytes() != other.read_bytes():
                self.lost.append(f"another {path.relative_to(self.twin)} than the undisturbed run's")
        self.lost += [f"other scores in {path}" for path in self.twin.rglob("metrics.jsonl") if not self.scored(path)]
        if list(self.folder.rglob("*.tmp")):
            self.lost.append("temporary files are left")
        shutil.rmtree(self.folder)
        shutil.rmtree(self.cache, ignore_errors=True)

    def scored(self, path: Path) -> bool:
        """Does every epoch of the disturbed run have the scores of its twin?"""
        other = self.folder / path.relative_to(self.twin)
        lines = [[json.loads(line) for line in file.read_text().splitlines()] for file in (path, other)]
        scores = [[{k: v for k, v in line.items() if "_error" in k or "_nll" in k} for line in own] for own in lines]
        return scores[0] == scores[1]

    def disturb_page(self, chance: random.Random) -> None:
        """Kill the command that writes the page: the page is whole or not there."""
        page = self.twin / "page.html"
        running = Running(["report", str(self.twin)], self.log, 1, {}, Nothing)
        running.join(chance.uniform(0.0, 0.3))
        running.kill()
        self.faults["report"] += 1
        if page.exists() and not page.read_text(encoding="utf-8").rstrip().endswith("</html>"):
            self.lost.append("half a page")

    def finish(self) -> None:
        running = self.start(self.folder)
        running.join()
        if running.codes != [0] * self.ranks:
            self.lost.append(f"exit codes {running.codes} at last; {self.log.read_text()[-600:]}")
        else:
            self.judge()
