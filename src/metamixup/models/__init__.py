"""The architectures of the paper, small ones for quick runs, and the user's own."""

from metamixup.models.registry import build, check, known_models
from metamixup.models.staged import Staged

__all__ = ["Staged", "build", "check", "known_models"]
