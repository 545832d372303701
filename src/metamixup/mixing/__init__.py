"""Blends of samples and labels: the leaf that everything else stands on."""

from metamixup.mixing.mix import Mixture, Pairs, draw_partners, image_size, mix, own_partners
from metamixup.mixing.targets import sharpen, smoothed, soft_cross_entropy, soft_labels

__all__ = [
    "Mixture",
    "Pairs",
    "draw_partners",
    "image_size",
    "mix",
    "own_partners",
    "sharpen",
    "smoothed",
    "soft_cross_entropy",
    "soft_labels",
]
