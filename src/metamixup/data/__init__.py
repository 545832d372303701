"""Data sets, their splits, augmentation and batches. A leaf: it knows nothing of models, methods or settings."""

from metamixup.data.arrays import from_arrays, from_dataset
from metamixup.data.augment import Augment
from metamixup.data.images import DataSet, ImageSet
from metamixup.data.known import by_name, known_data, load
from metamixup.data.splits import Split, split
from metamixup.data.stream import Stream

__all__ = [
    "Augment",
    "DataSet",
    "ImageSet",
    "Split",
    "Stream",
    "by_name",
    "from_arrays",
    "from_dataset",
    "known_data",
    "load",
    "split",
]
