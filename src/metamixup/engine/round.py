"""What the processes of a run write into torch's store to agree that all have come, or that one has left.

Process 0 opens a round under a fresh name, each of the others answers with a fresh word, and the first outcome that is
written stands. torchrun's agent has a store that outlives its processes: an outcome therefore counts only for those
whose words it repeats, and nobody takes what an earlier start has left for an answer.
"""

import json
import secrets
import time
from dataclasses import asdict, dataclass

import torch.distributed as dist

FIRST = "process 0"
POLL = 0.1  # seconds between two looks
FAREWELL = 2.0  # seconds for which process 0 keeps its store before and after it tells that somebody has left
MOST_NAMED = 8


@dataclass(frozen=True)
class Outcome:
    """words: of those who had come; left: why somebody left, empty if all begin; asked: whether by a signal."""

    words: list[str]
    left: str = ""
    asked: bool = False


class Round:
    """One process's view of the round.

    store: where all of them write
    rank: this process's number
    size: how many there are

    `own` is the part of the store that belongs to the newest round, `missing` names those who have not come to it.
    """

    def __init__(self, store: dist.Store, rank: int, size: int):
        self.store, self.rank, self.size = dist.PrefixStore("metamixup", store), rank, size
        self.word, self.missing = secrets.token_hex(8), FIRST
        if rank == 0:
            self.store.set("round", self.word)

    def look(self) -> Outcome | None:
        """Answer the newest round; its outcome, if it has one for this process."""
        if not self.store.check(["round"]):
            return None
        self.own = dist.PrefixStore(self.store.get("round").decode(), self.store)
        self.own.set(_word_of(self.rank), self.word)
        if self.rank == 0:
            self._call_the_roll()
        if self.own.check(["outcome"]):
            found = Outcome(**json.loads(self.own.get("outcome")))
            return found if self.word in found.words else None
        if self.own.check(["missing"]):
            self.missing = self.own.get("missing").decode()
        return None

    def leave(self, why: str, asked: bool) -> None:
        """Tell those who have come, if there is a round and it is still open. Process 0, which may take the store away,
        first waits for those who are about to come."""
        deadline = time.monotonic() + FAREWELL
        while self.rank == 0 and self.look() is None and time.monotonic() < deadline:
            time.sleep(POLL)
        if self.missing != FIRST:
            self._end(why, asked)

    def part(self, outcome: Outcome) -> None:
        """Somebody has left: process 0, which may hold the store, goes last."""
        self.own.set(f"read by {self.word}", "")
        deadline = time.monotonic() + FAREWELL
        readers = [f"read by {word}" for word in outcome.words]
        while self.rank == 0 and not self.own.check(readers) and time.monotonic() < deadline:
            time.sleep(POLL)

    def _call_the_roll(self) -> None:
        absent = [k for k in range(self.size) if not self.own.check([_word_of(k)])]
        if absent:
            self.own.set("missing", named(absent))
        else:
            self._end()

    def _end(self, left: str = "", asked: bool = False) -> None:
        present = [_word_of(k) for k in range(self.size) if self.own.check([_word_of(k)])]
        outcome = Outcome([self.own.get(key).decode() for key in present], left, asked)
        self.own.compare_set("outcome", "", json.dumps(asdict(outcome)))


def named(ranks: list[int]) -> str:
    """`process 1`, `processes 1, 2`, `processes 1, 2, … and 500 more`"""
    told = ", ".join(str(rank) for rank in ranks[:MOST_NAMED])
    more = f" and {len(ranks) - MOST_NAMED} more" if len(ranks) > MOST_NAMED else ""
    return f"process{'es' if len(ranks) > 1 else ''} {told}{more}"


def _word_of(rank: int) -> str:
    return f"word of {rank}"
