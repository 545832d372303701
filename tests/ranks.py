"""Several processes in a test: forked, joined by gloo over a file, each with one thread."""

import multiprocessing
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


def together(size: int, folder: Path, work: Callable[..., Any], *given: Any) -> list[Any]:
    """What `work(*given)` gives in each of `size` processes that are joined; tensors, numbers and text."""
    store = folder / "rendezvous"
    store.unlink(missing_ok=True)
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=_member, args=(rank, size, store, folder / f"answer-{rank}.pt", work, given))
        for rank in range(size)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        process.kill()
    problems = [p.read_text() for p in folder.glob("answer-*.txt")]
    assert not problems, "\n".join(problems)
    return [torch.load(folder / f"answer-{rank}.pt", weights_only=True) for rank in range(size)]


def _member(rank: int, size: int, store: Path, answer: Path, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    os.environ.update(LOCAL_WORLD_SIZE=str(size), LOCAL_RANK=str(rank), RANK=str(rank), WORLD_SIZE=str(size))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", TORCHELASTIC_RUN_ID="test", GROUP_RANK="0")
    try:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
        torch.save(work(*given), answer)
        dist.destroy_process_group()
    except BaseException:
        answer.with_suffix(".txt").write_text(f"process {rank}: {traceback.format_exc()}")
    finally:
        os._exit(0)
