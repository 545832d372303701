"""How sure a run may be of new images: a network that knows its training images by heart is surer than it is right."""

import torch
from torch import Tensor

HOTTEST = 100.0
HALVINGS = 40


def temperature(logits: Tensor, labels: Tensor) -> float:
    """What logits are divided by, so that the probability of the likeliest class is on average the share of test images
    that were right; 1 where the network is not too sure. The class stays the same, and so do all scores.

    logits: (N, C) of the test images; labels: (N,).
    """
    logits = logits.double()
    right = int((logits.argmax(1) == labels).sum())
    share = (right + 1) / (len(labels) + 2)  # Laplace's rule: that a few images were all right says little
    low, high = 1.0, HOTTEST
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        too_sure = _sureness(logits / middle) > share
        low, high = (middle, high) if too_sure else (low, middle)
    return round(low, 4)


def _sureness(logits: Tensor) -> float:
    return float(torch.softmax(logits, 1).amax(1).mean())
