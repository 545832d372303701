"""What every parser owes: any bytes give data or a DataError, in bounded memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from data.memory import peak_memory
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from metamixup.errors import DataError

fuzzed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def data_or_error(parse: Callable[[Path], Any], path: Path, content: bytes) -> Any:
    """Parse the bytes; anything but data or a DataError that names the file fails, and so does a hunger for memory."""
    path.write_bytes(content)
    found: list[Any] = []
    told: list[str] = []

    def attempt() -> None:
        try:
            found.append(parse(path))
        except DataError as problem:
            told.append(str(problem))

    assert peak_memory(attempt) <= 2 * len(content) + 64 * 2**20
    assert all(str(path) in message for message in told)
    return found[0] if found else None


@st.composite
def damaged(draw: st.DrawFn, sound: bytes) -> bytes:
    """A sound file with bytes overwritten, cut off, repeated or put in front."""
    content = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(content) - 1)))
        patch = draw(
            st.one_of(st.binary(min_size=1, max_size=8), st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"]))
        )
        how = draw(st.sampled_from(["overwrite", "cut", "insert", "header"]))
        if how == "overwrite":
            content[place : place + len(patch)] = patch
        elif how == "cut":
            del content[place:]
        elif how == "insert":
            content[place:place] = patch
        else:
            early = place % 256
            content[early : early + len(patch)] = patch
    return bytes(content)
