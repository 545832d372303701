"""Runs on a Ray cluster: one task a run, with its core or its GPU. Every machine sees the run folders (a shared disk).

A task whose machine is lost goes to another one, and the run goes on from its checkpoint. Not here: how a run is
carried out (worker.py, the same as on this machine, so that results are equal to the bit).
"""

import contextlib
import logging
import os
import threading
from pathlib import Path
from typing import Any

import ray

from metamixup.engine.records.run_folder import RunFolder, read_lines
from metamixup.errors import UserError
from metamixup.settings.resolve import resolve
from metamixup.tables.runner import Job, Progress, Result
from metamixup.tables.worker import Watch, carry_out

RETRIES = 10  # machines that a run may lose
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


@ray.remote(max_retries=RETRIES)
def _run(folder: str, given: dict[str, Any]) -> dict[str, Any]:
    return carry_out(Path(folder), given, Watch())


class RayRunner:
    """`address` is a cluster's; without one $RAY_ADDRESS counts, or Ray is started on this machine."""

    def __init__(self, address: str | None = None):
        # Tasks are not killed for a busy machine's memory but fail by themselves, and are told.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UserError(f"no Ray cluster at {address or 'this machine'} ({error})") from error
        resources = ray.cluster_resources()
        self.gpus, self.cores = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
        self.stopping = threading.Event()
        self.going: set[Any] = set()

    @property
    def at_once(self) -> int:
        return max(1, self.gpus or self.cores)

    def run_cell(self, job: Job, progress: Progress) -> Result:
        epochs = resolve(job.given).epochs
        while True:
            result = self._once(job, progress, epochs)
            # A machine that was told to stop has saved a checkpoint: another one goes on.
            if result.status != "interrupted" or self.stopping.is_set():
                return result

    def _once(self, job: Job, progress: Progress, epochs: int) -> Result:
        gpu = 1 if self.gpus and job.given.get("device") != "cpu" else 0
        task = _run.options(num_cpus=1, num_gpus=gpu, runtime_env={"env_vars": ONE_THREAD})
        going = task.remote(str(job.folder), job.given)
        self.going.add(going)
        try:
            while not ray.wait([going], timeout=0.5)[0]:
                progress(len(read_lines(RunFolder(job.folder).metrics)) / epochs)
            return Result(**ray.get(going))
        except ray.exceptions.TaskCancelledError:
            return Result("interrupted", message="before its first step")
        except ray.exceptions.RayError as error:
            return Result("failed", message=f"{type(error).__name__}: {str(error).splitlines()[0]}")
        finally:
            self.going.discard(going)

    def interrupt(self) -> None:
        self.stopping.set()
        for going in list(self.going):
            with contextlib.suppress(ray.exceptions.RayError):
                ray.cancel(going)  # Ctrl-C for the run, which saves a checkpoint

    def close(self) -> None:
        ray.shutdown()
