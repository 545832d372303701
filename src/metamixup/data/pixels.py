"""How pixels are scaled before a network sees them."""

from dataclasses import replace
from typing import Literal

from metamixup.data.images import DataSet
from metamixup.data.whiten import fit_once, whitened

Pixels = Literal["standard", "symmetric", "zca"]


def scaled(found: DataSet, pixels: Pixels) -> DataSet:
    """`standard`: mean 0 and deviation 1 of each channel; `symmetric`: 0…1 becomes −1…1; `zca`: contrast normalised and
    whitened by the training images, which needs them in memory and no labels."""
    if pixels == "standard":
        return found
    if pixels == "zca":
        return whitened(found, fit_once(found.train.images))
    halves = (0.5,) * found.shape[0]
    return replace(found, mean=halves, std=halves)
