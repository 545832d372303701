"""How much memory a file may ask for: hostile headers and gzip bombs are refused before anything is allocated."""

from pathlib import Path

from metamixup.errors import DataError

SLACK = 48 * 2**20


def check_declared(path: Path, declared: int, advice: str = "if it is genuine, unpack it first") -> None:
    """A file may need twice its own size and a little more; what promises more than that is refused."""
    allowed = 2 * path.stat().st_size + SLACK
    if declared > allowed:
        raise DataError(
            f"{path}: promises {declared / 2**20:,.0f} MB of content, more than a file of its size may hold "
            f"({allowed / 2**20:,.0f} MB); {advice}"
        )
