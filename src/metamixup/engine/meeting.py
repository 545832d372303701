"""Where the processes of a run meet before torch joins them: within a bound, in words, and open to signals.

torch by itself waits half an hour for a process that never comes, in calls that no signal interrupts. Here a thread
does whatever may block, while the main thread watches the clock and the signals and may give up at any moment.
Not here: how they agree (round.py), and who starts them (launch.py).
"""

import atexit
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from threading import Thread

import torch
import torch.distributed as dist

from metamixup.engine.interrupt import Interrupt, Interrupted
from metamixup.engine.round import FIRST, POLL, Round
from metamixup.errors import UserError
from metamixup.world import ToldElsewhere

VARIABLE = "METAMIXUP_MEETING_SECONDS"
ONE_MACHINE, SEVERAL_MACHINES, LONGEST = 60, 600, 7 * 86_400  # seconds; another machine may have to boot
SPEAK_AFTER = 5.0
GRACE = 5.0  # seconds, at most, for the thread to leave word or to be done after all
COLLECTIVE = timedelta(minutes=30)  # torch's own bound, for training
ADVICE = "start all processes again with --resume: no checkpoint is lost"


@dataclass(frozen=True)
class Member:
    """A process of a run.

    rank: its number
    size: how many there are
    address, port: where they meet
    patience: seconds to wait for the others
    """

    rank: int
    size: int
    address: str
    port: int
    patience: int

    def __post_init__(self) -> None:
        if not 0 < self.port < 2**16:
            raise ValueError(f"MASTER_PORT is {self.port}, which is no port")

    @property
    def place(self) -> str:
        return f"{self.address}:{self.port}"

    @property
    def holds_store(self) -> bool:
        return self.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"


def patience(nodes: int) -> int:
    """Seconds to wait for the processes of a run on so many machines."""
    usual = ONE_MACHINE if nodes == 1 else SEVERAL_MACHINES
    return min(int(os.environ.get(VARIABLE, usual)), LONGEST)


class Meeting:
    """Joins this process with the others of its run.

    member: who this process is
    device: where it trains
    interrupt: asks it to stop
    say: tells people whom it waits for
    ended: names a process that is known to have ended; empty if there is none
    """

    def __init__(
        self,
        member: Member,
        device: torch.device,
        interrupt: Interrupt,
        say: Callable[[str], None],
        ended: Callable[[], str],
    ):
        self.member, self.device, self.interrupt, self.say, self.ended = member, device, interrupt, say, ended
        self.since, self.met, self.missing = time.monotonic(), False, FIRST if member.rank else "the others"
        self.leaving: Exception | None = None
        self.error: Exception | None = None

    def join(self) -> None:
        """Returns when torch has joined the processes. Raises Interrupted, or a UserError that names who is missing."""
        thread = Thread(target=self._attend, daemon=True, name="meeting")
        thread.start()
        spoken = False
        while thread.is_alive() and self.leaving is None:
            thread.join(POLL)
            spoken = spoken or self._speak()
            self.leaving = self._reason_to_leave()
        thread.join(min(GRACE, self.member.patience))
        if thread.is_alive() or self.error is not None:
            raise self.leaving or self._told()

    def _speak(self) -> bool:
        """Process 0 speaks for those whom it has met."""
        alone = self.member.rank == 0 or self.missing == FIRST
        if self.met or not alone or time.monotonic() - self.since < SPEAK_AFTER:
            return False
        self.say(f"process {self.member.rank} waits for {self.missing} at {self.member.place}")
        return True

    def _reason_to_leave(self) -> Exception | None:
        if self.interrupt.asked:
            return Interrupted("stopped before the processes of this run were joined")
        if ended := self.ended():
            return UserError(f"{ended} before the processes of this run were joined; {ADVICE}")
        if time.monotonic() - self.since < self.member.patience:
            return None
        if self.met:
            return UserError(f"a process of this run is gone since all had met; {ADVICE}")
        return UserError(
            f"{self.missing} did not come to {self.member.place} within {self.member.patience} s; {ADVICE} "
            f"(${VARIABLE} sets how long to wait)"
        )

    def _told(self) -> Exception:
        """What went wrong in the thread, for people."""
        assert self.error is not None
        if not isinstance(self.error, RuntimeError):
            return self.error
        why, place = str(self.error).partition("\n")[0], self.member.place
        if self.met:
            return UserError(f"the processes of this run have met, but cannot be joined ({why}); {ADVICE}")
        if self.member.holds_store:
            return UserError(f"the processes cannot meet at {place} ({why}); choose another MASTER_PORT")
        return UserError(f"nobody answers at {place}, where the processes were to meet; {ADVICE}")

    def _attend(self) -> None:
        try:
            store = self._meet(self._open_store())
            self.since, self.met = time.monotonic(), True
            self._connect(store)
        except Exception as error:
            self.error = error

    def _open_store(self) -> dist.Store:
        m, bound = self.member, timedelta(seconds=max(1, self.member.patience))
        if not m.holds_store:
            self._wait_for_listener()
        return dist.TCPStore(m.address, m.port, is_master=m.holds_store, timeout=bound, wait_for_workers=False)

    def _wait_for_listener(self) -> None:
        """torch's own client would print a page for each attempt that fails."""
        while True:
            try:
                return socket.create_connection((self.member.address, self.member.port), timeout=1.0).close()
            except (OSError, UnicodeError):  # nobody there yet, or no such name
                time.sleep(POLL)

    def _meet(self, store: dist.Store) -> dist.Store:
        """The part of the store that is this round's own: an agent's store may hold addresses of an earlier one."""
        round_ = Round(store, self.member.rank, self.member.size)
        while (outcome := round_.look()) is None:
            self.missing = round_.missing
            if self.leaving is not None:
                round_.leave(str(self.leaving), isinstance(self.leaving, Interrupted))
            time.sleep(POLL)
        if not outcome.left:
            return round_.own
        round_.part(outcome)
        raise (Interrupted if outcome.asked else ToldElsewhere)(outcome.left)

    def _connect(self, store: dist.Store) -> None:
        gpu = self.device if self.device.type == "cuda" else None
        backend = "gloo" if gpu is None else "nccl"
        rank, size = self.member.rank, self.member.size
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=COLLECTIVE, device_id=gpu)
        store.set_timeout(COLLECTIVE)
        if gpu is not None:
            atexit.register(dist.destroy_process_group)  # nccl complains otherwise
