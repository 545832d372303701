"""Runs on this machine: a pool of worker processes with one thread each, started when needed and used again."""

import json
import os
import queue
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from metamixup.storage import make_folder, open_log
from metamixup.tables.runner import Job, Progress, Result


class Worker:
    """A process of worker.py. It has a session of its own, so that Ctrl-C reaches it only through the grid."""

    def __init__(self, log: Path):
        self.log = open_log(log)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "metamixup.tables.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )

    def carry_out(self, job: Job, progress: Progress) -> Result:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"folder": str(job.folder), "given": job.given}) + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                answer: dict[str, Any] = json.loads(line)
                if "status" in answer:
                    return Result(**answer)
                progress(answer["progress"])
        except BrokenPipeError:
            pass
        return Result("failed", message=f"its process ended with code {self.process.wait()}; see {self.log.name}")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def interrupt(self) -> None:
        if self.alive:
            self.process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """The end of its input ends the process; one that does not listen is killed."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class LocalRunner:
    """As many workers as runs go on at once; one that died is replaced."""

    def __init__(self, logs: Path):
        self.logs = logs
        self.idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self.workers: list[Worker] = []

    def run_cell(self, job: Job, progress: Progress) -> Result:
        worker = self._worker()
        result = worker.carry_out(job, progress)
        if worker.alive:
            self.idle.put(worker)
        return result

    def _worker(self) -> Worker:
        try:
            return self.idle.get_nowait()
        except queue.Empty:
            make_folder(self.logs)
            worker = Worker(self.logs / f"worker-{len(self.workers)}.log")
            self.workers.append(worker)
            return worker

    def interrupt(self) -> None:
        for worker in self.workers:
            worker.interrupt()

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
