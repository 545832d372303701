"""The architectures of the paper, small ones for quick runs, and the user's own."""

from metamixup.models.registry import build, check, known_models
from metamixup.models.staged import Staged
from metamixup.models.zoo import is_trained

__all__ = ["Staged", "build", "check", "is_trained", "known_models"]
