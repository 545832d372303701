"""Learned data mixing for PyTorch."""

from metamixup.meta import Exact, FiniteDifference, Head
from metamixup.mixer import MetaMixUp, Mixed
from metamixup.mixing import Mixture, mix
from metamixup.policy import Beta, Fixed, Learned

__version__ = "0.1.0"

__all__ = [
    "Beta",
    "Exact",
    "FiniteDifference",
    "Fixed",
    "Head",
    "Learned",
    "MetaMixUp",
    "Mixed",
    "Mixture",
    "mix",
]
