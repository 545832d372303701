"""The most memory a call takes: what the process holds at its peak beyond what it held before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def peak_memory(call: Callable[[], Any]) -> int:
    """In bytes, by the kernel's own count, so that C libraries' memory is in it."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])
