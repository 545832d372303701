"""The process that trains: its device, precision, threads and rank. This and launch.py alone know Lightning Fabric."""

import ctypes
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from metamixup import world
from metamixup.engine.compiled import Compiled
from metamixup.engine.launch import devices_here, make_fabric
from metamixup.errors import UserError

MOST_THREADS = 16
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h


def usable_threads() -> int:
    """What OMP_NUM_THREADS says, or the cores that this process may use, shared with the others of its run. Not by how
    busy they are now: the number of threads decides the last digit of a sum, so the same command keeps it."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(MOST_THREADS, min(cores, cores_granted()) // devices_here())))


def cores_granted(cgroup: Path = Path("/sys/fs/cgroup")) -> float:
    """The cores that a container's quota leaves to it (cgroup v2, or v1); infinite without one. More threads than that
    are stopped in the middle of an operation, where the others wait for them."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((cgroup / name).read_text() for name in names).split()
            if quota.isdigit():
                return int(quota) / int(period)
        except (OSError, ValueError, ZeroDivisionError):
            continue
    return float("inf")


def keep_memory() -> bool:
    """Ask glibc to keep freed memory for the next step; False where there is no glibc. By default it gives large blocks
    back to the system after each operation, and the page faults of taking them again were a third of a small CNN's
    step."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL("libc.so.6")
        return bool(libc.mallopt(MMAP_THRESHOLD, 2**30) and libc.mallopt(TRIM_THRESHOLD, 2**31 - 1))
    except (OSError, AttributeError):
        return False


class Runtime:
    """rank and world are visible here and nowhere else; a single process is rank 0 of 1."""

    def __init__(self, threads: int, precision: str = "32", device: str = "auto"):
        if device == "cuda" and not torch.cuda.is_available():
            raise UserError("device 'cuda': torch sees no GPU here; leave device out or say device=cpu")
        torch.set_num_threads(threads)
        keep_memory()
        torch.set_flush_denormal(True)  # denormals cost time and carry nothing
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs to be deterministic
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        self.fabric = make_fabric(precision, device)
        if self.world > 1:
            self.fabric.launch()  # the processes are there already; this only takes note of it
        self.precision = precision

    @property
    def rank(self) -> int:
        return world.rank()

    @property
    def world(self) -> int:
        return world.size()

    @property
    def device(self) -> torch.device:
        return self.fabric.device

    @property
    def dtype(self) -> torch.dtype:
        return torch.float64 if self.precision == "64" else torch.float32

    def to_device(self, x: Tensor) -> Tensor:
        """Inputs on the device, images in channels_last: that nearly halves a CNN's step on CPU."""
        layout = torch.channels_last if x.ndim == 4 else torch.preserve_format
        dtype = self.dtype if x.is_floating_point() else x.dtype
        return x.to(self.device, dtype, memory_format=layout)

    def adopt(self, module: nn.Module) -> None:
        """Move a network here, in the layout of its inputs."""
        module.to(self.device, self.dtype)
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def setup(self, model: nn.Module, optimizer: Optimizer, compiled: bool, say: Callable[[str], None]) -> Any:
        """The model and the optimizer as they are called in the real step."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch 2.13 has another name for broadcast_buffers
            net = self.fabric.setup_module(model)
        return Compiled(net, say) if compiled else net, self.fabric.setup_optimizers(optimizer)

    def autocast(self) -> AbstractContextManager[None]:
        return self.fabric.autocast()

    def backward(self, loss: Tensor) -> None:
        self.fabric.backward(loss)

    def clip(self, net: Any, optimizer: Any, norm: float) -> None:
        self.fabric.clip_gradients(net, optimizer, max_norm=norm)
