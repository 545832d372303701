"""Memory that this process keeps: glibc gives large blocks back to the system after each operation, and every new
page costs a fault. A third of a small CNN's step on CPU was that."""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of malloc.h
LARGEST = 2**31 - 1


def keep_memory() -> bool:
    """Ask glibc to keep freed memory for the next step. False where there is no glibc to ask."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL("libc.so.6")
        return bool(libc.mallopt(MMAP_THRESHOLD, 2**30) and libc.mallopt(TRIM_THRESHOLD, LARGEST))
    except (OSError, AttributeError):
        return False
