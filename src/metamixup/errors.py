"""Mistakes of a user, told as what is wrong, where, and what to do. The command line exits with code 2 on them."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """The user can mend this; the message is shown as it stands, without a traceback."""


class DataError(UserError):
    """A data file or folder is missing, damaged or not what it should be."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """`unknown method 'metamix'; did you mean 'metamixup'?`"""
    return UserError(f"unknown {kind} {name!r}; {meant(name, known)}")


def meant(name: str, known: Iterable[str], most: int | None = None) -> str:
    """`did you mean 'metamixup'?`, or what is known where nothing is like it: all, or the first so many."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    more = f" and {len(known) - most} more" if most is not None and len(known) > most else ""
    return f"known: {', '.join(known[:most])}{more}"
