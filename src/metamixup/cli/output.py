"""Standard output that a run survives: a reader that has gone, a terminal that knows no λ, names with control codes."""

import contextlib
import errno
import os
import sys
from typing import Any, TextIO

KEPT = "\n\t"


def printable(text: str) -> str:
    """Control codes of file and class names as visible text: they must not speak to the terminal."""
    return "".join(c if c.isprintable() or c in KEPT else repr(c)[1:-1] for c in text)


class Steady:
    """A stream that may fail: what comes after is dropped, and the run goes on.

    `lost`: why, such as a full disk; None where nobody wants the rest, since the reader has gone (`… | head -1`) or the
    stream was closed."""

    def __init__(self, stream: TextIO | None):
        self._stream = stream
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        if self._stream is not None:
            try:
                self._stream.write(text)
            except (OSError, ValueError) as problem:
                self._drop(problem)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as problem:
                self._drop(problem)

    def _drop(self, problem: OSError | ValueError) -> None:
        """Python flushes the stream once more when it ends: nothing must fail then."""
        if isinstance(problem, OSError) and not isinstance(problem, ConnectionError) and problem.errno != errno.EBADF:
            self.lost = problem
        with contextlib.suppress(OSError, ValueError, AttributeError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())  # type: ignore[union-attr]
        self._stream = None

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream or sys.__stderr__, name)


def steady_output() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # a letter that the encoding lacks
        setattr(sys, name, Steady(stream))
