"""Values that an object refuses, told as a user's mistake."""

from collections.abc import Callable
from typing import TypeVar

from metamixup.errors import UserError

T = TypeVar("T")


def built(make: Callable[[], T]) -> T:
    """What `make` gives; a value that an object refuses is a user's mistake."""
    try:
        return make()
    except ValueError as error:
        raise UserError(str(error)) from error
