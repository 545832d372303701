"""Learned data mixing for PyTorch."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metamixup.meta import Exact, FiniteDifference, Head
    from metamixup.mixer import Indexed, MetaMixUp, Mixed
    from metamixup.mixing.mix import Mixture, mix
    from metamixup.policy import Beta, Fixed, Learned, Persistent
    from metamixup.trust import Trust

__version__ = "0.1.0"

__all__ = [
    "Beta",
    "Exact",
    "FiniteDifference",
    "Fixed",
    "Head",
    "Indexed",
    "Learned",
    "MetaMixUp",
    "Mixed",
    "Mixture",
    "Persistent",
    "Trust",
    "mix",
]


def __getattr__(name: str) -> Any:
    """The public names come in when they are first used: the command line prepares its process before torch loads."""
    if name in __all__:
        for home in ("mixing", "policy", "meta", "trust", "mixer"):
            module = importlib.import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
