"""A command that is disturbed until it has had its faults, and its undisturbed twin: the parts of chaos.py."""

import contextlib
import errno
import multiprocessing
import os
import random
import shutil
import signal
import socket
import time
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from metamixup import cli

FORK = multiprocessing.get_context("fork")
ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE, errno.EFBIG, errno.EACCES, errno.ENOENT]
# Exit codes that are no loss: done, told, interrupted once or twice, or by a signal that came before anybody listened.
TERM, TWICE, TOLD = (0, 75, -signal.SIGTERM), (0, 75, 130, -signal.SIGINT), (0, 2)
ALLOWED = {"term": TERM, "twice": TWICE, "errno": TOLD, "vanish": TOLD, "disk": TOLD}


class Running:
    """The processes of one start: several where ranks share a run."""

    def __init__(self, command: list[str], log: Path, ranks: int, told: dict[str, str], within: Callable[[], Any]):
        if ranks > 1:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
            told |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "TORCHELASTIC_RUN_ID": "chaos"}
            told |= {"GROUP_RANK": "0", "TORCHELASTIC_USE_AGENT_STORE": "False"}
        numbers = [{"RANK": str(k), "LOCAL_RANK": str(k)} if ranks > 1 else {} for k in range(ranks)]
        self.processes: list[BaseProcess] = [
            FORK.Process(target=carry_out, args=(command, log, {**told, **own}, within)) for own in numbers
        ]
        for process in self.processes:
            process.start()

    @property
    def alive(self) -> bool:
        return any(process.is_alive() for process in self.processes)

    @property
    def codes(self) -> list[int | None]:
        return [process.exitcode for process in self.processes]

    def join(self, seconds: float = 300.0) -> None:
        deadline = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))

    def send(self, number: int, which: int) -> None:
        pid = self.processes[which % len(self.processes)].pid
        assert pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


def carry_out(command: list[str], log: Path, environment: dict[str, str], within: Callable[[], Any]) -> None:
    """In a forked process: what the command imports has been imported already."""
    code = 1
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(environment)
    with log.open("a") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        try:
            with within():
                code = cli.run(command)
        except BaseException:
            traceback.print_exc()
        file.flush()
        os._exit(code)


class Victim:
    """ranks: processes that share the run; phase: the file whose appearance opens the time of faults, nothing for
    faults from the first moment on (decoding)."""

    def __init__(
        self, name: str, command: list[str], folder: Path, share: float, ranks: int = 1, phase: str = "config.toml"
    ):
        self.name, self.folder, self.twin, self.share = name, folder / "disturbed", folder / "twin", share
        self.command, self.ranks, self.phase, self.cache = command, ranks, phase, folder / "cache"
        self.faults, self.ends, self.lost, self.log = Counter[str](), 0, list[str](), folder / "log"

    def start(self, out: Path, within: Callable[[], Any] = contextlib.nullcontext) -> Running:
        more = ["--out", str(out)] if "reproduce" in self.command else ["--out", str(out), "--resume"]
        return Running([*self.command, *more], self.log, self.ranks, {"METAMIXUP_CACHE": str(self.cache)}, within)

    def undisturbed(self) -> None:
        running = self.start(self.twin)
        running.join()
        if running.codes != [0] * self.ranks:
            raise SystemExit(f"{self.name}: the undisturbed run failed\n{self.log.read_text()}")
        shutil.rmtree(self.cache, ignore_errors=True)

    def disturb(self, kind: str, chance: random.Random) -> None:
        """Once more from where it is, with one fault."""
        before = {"damage": self.damage, "lock": self.leave_lock}.get(kind)
        if before is not None:
            kind = kind if before(chance) else "kill"
        within = failing(chance) if kind == "errno" else jumping if kind == "clock" else contextlib.nullcontext
        running = self.start(self.folder, within)
        self.wait(running, chance.uniform(0.0, 2.0))
        self.faults[kind] += 1
        if running.alive:
            getattr(self, f"while_{kind}", self.while_kill)(running, chance)
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
        gone = (1, 2, -signal.SIGKILL) if self.ranks > 1 or kind in ("kill", "damage", "lock", "clock") else ()
        strange = [code for code in running.codes if code not in (*allowed, *gone, None)]
        if strange or (kind == "term" and None in running.codes):
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
        running.join(chance.uniform(0.0, 3.0))

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
        weights = sorted(self.twin.rglob("model.safetensors"))
        other = [self.folder / w.relative_to(self.twin) for w in weights]
        if not all(b.exists() and a.read_bytes() == b.read_bytes() for a, b in zip(weights, other, strict=True)):
            self.lost.append("other weights than the undisturbed run's")
        if list(self.folder.rglob("*.tmp")):
            self.lost.append("temporary files are left")
        shutil.rmtree(self.folder)
        shutil.rmtree(self.cache, ignore_errors=True)

    def disturb_page(self, chance: random.Random) -> None:
        """Kill the command that writes the page: the page is whole or not there."""
        page = self.twin / "page.html"
        running = Running(["report", str(self.twin)], self.log, 1, {}, contextlib.nullcontext)
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


def failing(chance: random.Random) -> Callable[[], Any]:
    """From some call on, the disk fails for a few calls, with one error."""
    number, first = chance.choice(ERRORS), chance.randrange(30)
    count, real = [0], os.fsync

    def fsync(descriptor: int) -> None:
        count[0] += 1
        if first <= count[0] < first + 3:
            raise OSError(number, os.strerror(number))
        real(descriptor)

    @contextlib.contextmanager
    def patched() -> Any:
        os.fsync = fsync
        yield

    return patched


@contextlib.contextmanager
def jumping() -> Any:
    """The clock on the wall jumps by a day, back and forth."""
    real, count = time.time, [0]

    def jumped() -> float:
        count[0] += 1
        return real() + 86_400 * (-1) ** count[0]

    time.time = jumped
    yield
