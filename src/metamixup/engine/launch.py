"""Several processes for one run: started here, by torchrun or by a cluster's own means. The command is the same."""

import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lightning_fabric import Fabric
from lightning_fabric.plugins.environments import ClusterEnvironment, LightningEnvironment
from lightning_fabric.strategies import DDPStrategy

from metamixup import world
from metamixup.engine.interrupt import Interrupt
from metamixup.engine.meeting import Meeting, Member, patience
from metamixup.errors import UserError, unknown

STRATEGIES = ("ddp",)
PARENT = "METAMIXUP_PARENT"  # tells a process that was started here by which one


class Alone(LightningEnvironment):
    """A single process, whatever a batch system has left in the environment of others."""

    def local_rank(self) -> int:
        return 0

    def node_rank(self) -> int:
        return 0


def launch(
    devices: int = 1,
    nodes: int = 1,
    strategy: str = "ddp",
    accelerator: str = "auto",
    interrupt: Interrupt | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Join the other processes of this run, and start those of this machine unless somebody has.

    Under torchrun its numbers count. Without it, `nodes` > 1 needs MASTER_ADDR, MASTER_PORT and NODE_RANK on each.
    `interrupt` ends the wait for them, of which `say` tells people.
    """
    if strategy == "fsdp":
        raise UserError(
            "strategy 'fsdp' cuts the parameters up, while estimators call the network with whole ones of another "
            "point, and checkpoints hold whole ones; --strategy ddp serves every method"
        )
    if strategy not in STRATEGIES:
        raise unknown("strategy", strategy, STRATEGIES)
    if has_agent() or {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"} <= os.environ.keys():
        devices, nodes = _torchrun(devices, nodes)
    if devices * nodes > 1:
        _listen_on_loopback(os.environ, nodes)
        _join(devices, nodes, accelerator, interrupt or Interrupt(), say)


def _join(devices: int, nodes: int, accelerator: str, interrupt: Interrupt, say: Callable[[str], None]) -> None:
    try:
        fabric = make_fabric("32", accelerator, devices, nodes)
        environment: ClusterEnvironment = fabric.strategy.cluster_environment  # type: ignore[attr-defined]
        environment.validate_settings(num_devices=devices, num_nodes=nodes)
        member = _member(environment, devices, nodes)
    except (RuntimeError, ValueError, KeyError) as error:  # what a batch system has set does not go together
        raise UserError(f"{devices * nodes} processes cannot be started here: {error}") from error
    ended = partial(_ended, _start_others(environment, devices), member.rank + 1)
    Meeting(member, fabric.device, interrupt, say, ended).join()
    fabric.launch()  # they are joined already; this only takes note of it


def has_agent() -> bool:
    """Has torchrun started this process? One whose agent is gone would be in the way of those that come after it."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def starter() -> int | None:
    """The process without which this one shall not go on: torchrun's agent, or the one that has started it here."""
    if PARENT in os.environ:
        return int(os.environ[PARENT])
    return os.getppid() if has_agent() else None


def elastic() -> bool:
    """May torchrun begin the processes again (--max-restarts)? They go on then with the run that they find.

    Its count of restarts would not do: it is each agent's own, and a machine that comes anew raises nobody's.
    """
    return any(world.any_of(int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) > 0))


def lost_another(error: Exception) -> bool:
    """Is it that another process of this run is gone? Whoever started them knows which, and begins them again."""
    signs = ("gloo", "NCCL", "Connection closed by peer", "Connection reset by peer")
    return world.size() > 1 and isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


def make_fabric(precision: str, accelerator: str, devices: int | None = None, nodes: int | None = None) -> Fabric:
    """Left out, devices and nodes are those of the processes that are joined already."""
    if devices is None or nodes is None:
        devices = devices_here()
        nodes = world.size() // devices
    alone: Any = [] if devices * nodes > 1 else [Alone()]
    # Buffers are averaged by the engine, and methods call the network several times a step.
    strategy: Any = DDPStrategy(broadcast_buffers=False) if devices * nodes > 1 else "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Fabric(
            accelerator=accelerator,
            devices=devices,
            num_nodes=nodes,
            strategy=strategy,
            plugins=alone,
            precision=precision,  # type: ignore[arg-type]
        )


def _start_others(environment: ClusterEnvironment, devices: int) -> list[subprocess.Popen[bytes]]:
    """Start this machine's other processes, unless a launcher has. Fabric would do so too, but kills this process when
    one of them ends, be it after a signal with a checkpoint saved."""
    if environment.creates_processes_externally:
        return []
    os.environ["LOCAL_RANK"] = "0"
    command, told = [sys.executable, *sys.orig_argv[1:]], {**os.environ, PARENT: str(os.getpid())}
    return [subprocess.Popen(command, env={**told, "LOCAL_RANK": str(k)}) for k in range(1, devices)]


def _ended(others: Sequence[subprocess.Popen[bytes]], first: int) -> str:
    """Names one of the processes that were started here, and numbered from `first` on, if it has ended."""
    codes = [(first + k, process.poll()) for k, process in enumerate(others)]
    return next((f"process {rank} ended with code {code}" for rank, code in codes if code is not None), "")


def _member(environment: ClusterEnvironment, devices: int, nodes: int) -> Member:
    environment.set_world_size(devices * nodes)
    environment.set_global_rank(environment.node_rank() * devices + environment.local_rank())
    place = environment.main_address, environment.main_port
    return Member(environment.global_rank(), environment.world_size(), *place, patience(nodes))


def _torchrun(devices: int, nodes: int) -> tuple[int, int]:
    here, everywhere = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
    if devices not in (1, here) or nodes not in (1, everywhere // here):
        raise UserError(
            f"torchrun has started {here} processes on each of {everywhere // here} nodes: leave out "
            "--devices and --nodes"
        )
    return here, everywhere // here


def devices_here() -> int:
    """How many processes of the run that was joined are on this machine."""
    if world.size() == 1:
        return 1
    return int(os.environ.get("LOCAL_WORLD_SIZE", 0)) or world.size() // int(os.environ["METAMIXUP_NODES"])


def _listen_on_loopback(given: Any, nodes: int) -> None:
    """A port of one's own, so that two runs on one machine do not meet."""
    given["METAMIXUP_NODES"] = str(nodes)
    if nodes == 1 and "MASTER_PORT" not in given:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            given["MASTER_ADDR"], given["MASTER_PORT"] = "127.0.0.1", str(free.getsockname()[1])
