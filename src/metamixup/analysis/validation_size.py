"""Test error by the size of the meta set (Section IV-D). The paper's figure gives no numbers to set beside it."""

from metamixup.analysis.sweep import Sweep

VALIDATION_SIZE = Sweep("validation-size", "meta.per_class", "Size of the meta set", "meta images a class")
PER_CLASS = (10, 20, 50, 100, 200)
