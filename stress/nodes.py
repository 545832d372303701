"""Two nodes on this machine: torchrun twice with one rendezvous, undisturbed and with every process that can be lost.

    python stress/nodes.py --epochs 10

Each line tells what was done, how long it took, the test error, and whether the weights equal those of two undisturbed
nodes to the bit.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
PATIENCE = 300.0
# torch 2.13 tells an agent that comes later where the ranks meet only if they do not meet at the agents' own store.
ENVIRONMENT = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


class Run:
    """A run of several agents, each of which stands for a machine."""

    def __init__(self, out: Path, training: list[str], nodes: int = 2, each: int = 1):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.out = out
        self.command = [
            *TORCHRUN, "--nnodes", str(nodes), "--nproc-per-node", str(each), "--max-restarts", "3",
            "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", out.name,
            "-m", "metamixup", *training, "--out", str(out),
        ]  # fmt: skip
        self.nodes, self.port = nodes, port
        self.start_all()

    def start_all(self) -> None:
        self.agents = [self.start()]
        while not self.rendezvous():
            time.sleep(0.1)
        self.agents += [self.start() for _ in range(self.nodes - 1)]

    def rendezvous(self) -> bool:
        """Is it open? The first agent holds it: the run is over when that one is lost."""
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.port)) == 0

    def start(self) -> subprocess.Popen[bytes]:
        with self.out.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(self.command, stdout=log, stderr=log, start_new_session=True, env=ENVIRONMENT)

    def wait_for_checkpoint(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not list(self.out.glob("checkpoints/*.safetensors")):
            if time.monotonic() > deadline or all(agent.poll() is not None for agent in self.agents):
                raise SystemExit(f"{self.out.name}: no checkpoint\n{self.told()}")
            time.sleep(0.05)

    def end(self) -> list[int]:
        """The agents' exit codes."""
        try:
            return [agent.wait(PATIENCE) for agent in self.agents]
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{self.out.name}: hangs\n{self.told()}") from None

    def told(self) -> str:
        return self.out.with_suffix(".log").read_text()[-3000:]

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        for agent in self.agents:
            for process in [*ranks(agent), agent.pid] if agent.poll() is None else []:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            agent.wait()


def ranks(agent: subprocess.Popen[bytes]) -> list[int]:
    """The processes that an agent has started."""
    found = subprocess.run(["pgrep", "-P", str(agent.pid)], capture_output=True, text=True, check=False).stdout
    return [int(line) for line in found.split()]


def lose_machine(run: Run) -> None:
    """The second one, with all its processes; it comes back."""
    for process in [run.agents[1].pid, *ranks(run.agents[1])]:
        os.kill(process, signal.SIGKILL)
    come_back(run)


def lose_agent(run: Run) -> None:
    """Its process goes on alone; the agent comes back."""
    run.agents[1].kill()
    come_back(run)


def come_back(run: Run) -> None:
    run.agents[1].wait()
    time.sleep(1)
    run.agents[1] = run.start()


def lose_rank(run: Run) -> None:
    os.kill(ranks(run.agents[1])[0], signal.SIGKILL)


def preempt(run: Run) -> None:
    """Both are told to stop, and are started again."""
    started = time.monotonic()
    for agent in run.agents:
        agent.terminate()
    codes = run.end()
    print(f"  SIGTERM: gone after {time.monotonic() - started:.1f} s, torchrun's codes {codes}", flush=True)
    run.start_all()


def leave(_: Run) -> None:
    """Nothing happens."""


SCENES: dict[str, Callable[[Run], None]] = {
    "undisturbed": leave,
    "a rank killed": lose_rank,
    "an agent killed and started again": lose_agent,
    "a machine lost and back": lose_machine,
    "both told to stop and started again": preempt,
}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--epochs", type=int, default=10)
    asked.add_argument("--only", help="a part of a scene's name")
    given = asked.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no process is left behind
    training = ["train", "--epochs", str(given.epochs), "--threads", "1", "--set", "checkpoint_minutes=0.01"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        alone = [sys.executable, "-m", "metamixup", *training, "--out", str(folder / "alone")]
        subprocess.run(alone, check=True, capture_output=True)
        print(f"one process: {test_error(folder / 'alone')} % test error", flush=True)
        chosen = [(k, v) for k, v in SCENES.items() if v is leave or not given.only or given.only in k]
        weights = [play(what, happens, folder / str(k), training) for k, (what, happens) in enumerate(chosen)]
        alike = [b"" != each == weights[0] for each in weights]
        print(f"{sum(alike)} of {len(alike)} runs on two nodes have the same weights to the bit")
        return 0 if all(alike) else 1


def play(what: str, happens: Callable[[Run], None], out: Path, training: list[str]) -> bytes:
    """Train, let it happen after the first checkpoint, and give the weights at the end."""
    started = time.monotonic()
    with Run(out, training) as run:
        run.wait_for_checkpoint()
        happens(run)
        codes = run.end()
    print(
        f"two nodes, {what}: {test_error(out)} % test error, codes {codes}, {time.monotonic() - started:.0f} s",
        flush=True,
    )
    if any(codes):
        print(run.told())
    file = out / "model.safetensors"
    return file.read_bytes() if file.exists() else b""


def test_error(out: Path) -> float | None:
    summary = out / "summary.json"
    return json.loads(summary.read_text())["test_error"] if summary.exists() else None


if __name__ == "__main__":
    sys.exit(main())
