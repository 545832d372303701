"""The product's own stage: MixUp that learns which labels to trust."""

from metamixup.trust.stage import Trust
from metamixup.trust.suspects import Suspect

__all__ = ["Suspect", "Trust"]
