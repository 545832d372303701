"""The product's own policy: MixUp that learns which labels to trust."""

from metamixup.trust.evidence import Evidence
from metamixup.trust.stage import Trust

__all__ = ["Evidence", "Trust"]
