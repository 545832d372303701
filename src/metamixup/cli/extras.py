"""Parts that a small installation leaves out: a missing one is a user's mistake with a remedy, not a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

from metamixup.errors import UserError


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Around imports that the extra of that name brings."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "metamixup":
            raise
        raise UserError(f"{error.name} is not installed; pip install 'metamixup[{extra}]'") from error
