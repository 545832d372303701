"""The product's own stage: MixUp that learns which labels to trust."""

from metamixup.trust.stage import Trust

__all__ = ["Trust"]
