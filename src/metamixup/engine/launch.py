"""Several processes for one run: started here, by torchrun or by a cluster's own means. The command is the same."""

import os
import socket
import warnings
from typing import Any

from lightning_fabric import Fabric
from lightning_fabric.plugins.environments import LightningEnvironment
from lightning_fabric.strategies import DDPStrategy

from metamixup import world
from metamixup.errors import UserError, unknown

STRATEGIES = ("ddp",)


class Alone(LightningEnvironment):
    """A single process, whatever a batch system has left in the environment of others."""

    def local_rank(self) -> int:
        return 0

    def node_rank(self) -> int:
        return 0


def launch(devices: int = 1, nodes: int = 1, strategy: str = "ddp", accelerator: str = "auto") -> None:
    """Join the other processes of this run, and start those of this machine unless somebody has.

    Under torchrun its numbers count. Without it, `nodes` > 1 needs MASTER_ADDR, MASTER_PORT and NODE_RANK on each.
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
        try:
            make_fabric("32", accelerator, devices, nodes).launch()
        except (RuntimeError, ValueError, KeyError) as error:  # what a batch system has set does not go together
            raise UserError(f"{devices * nodes} processes cannot be started here: {error}") from error


def has_agent() -> bool:
    """Has torchrun started this process? One whose agent is gone would be in the way of those that come after it."""
    return "TORCHELASTIC_RUN_ID" in os.environ


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
