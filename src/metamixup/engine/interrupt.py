"""Signals that ask a run to end as a flag that the loop reads between steps: a checkpoint is always of a whole step."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Ctrl-C, a batch system, a terminal that is closed, and the end of the processor time that was granted.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)


class Interrupted(Exception):
    """Training stopped on a signal with a checkpoint saved; the command line exits with code 75."""


class Interrupt:
    """`parent`: the process without which this one shall not go on."""

    def __init__(self, parent: int | None = None) -> None:
        self.signalled, self.parent = False, parent

    @property
    def asked(self) -> bool:
        return self.signalled or self.parent not in (None, os.getppid())

    def ask(self, number: int, frame: FrameType | None) -> None:
        if self.signalled and number == signal.SIGINT:
            raise KeyboardInterrupt  # the second Ctrl-C does not wait for the step to end
        self.signalled = True


@contextmanager
def listening() -> Iterator[Interrupt]:
    """Inside of another `listening` it is the same Interrupt: signals that came before are heard. They are left alone
    outside the main thread, where Python cannot catch them, and so is SIGHUP under nohup."""
    outer = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if isinstance(outer, Interrupt):
        yield outer
        return
    interrupt = Interrupt()
    before = {}
    try:
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        for number in [n for n in SIGNALS if n != signal.SIGHUP or not ignored]:
            before[number] = signal.signal(number, interrupt.ask)
    except ValueError:
        pass
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
