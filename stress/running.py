"""Commands in processes of their own, forked so that what they import has been imported already."""

import contextlib
import multiprocessing
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from metamixup import cli

FORK = multiprocessing.get_context("fork")


class Running:
    """The processes of one start: several where ranks share a run."""

    def __init__(self, command: list[str], log: Path, ranks: int, told: dict[str, str], within: Callable[[], Any]):
        if ranks > 1:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
            told |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "TORCHELASTIC_RUN_ID": "chaos"}
            told |= {"GROUP_RANK": "0", "TORCHELASTIC_USE_AGENT_STORE": "False", "METAMIXUP_MEETING_SECONDS": "20"}
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
