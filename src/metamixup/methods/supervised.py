"""Cross entropy of blended samples with blended labels: baseline, MixUp, fixed λ and MetaMixUp differ by policy."""

import torch
from torch import Tensor

from metamixup.methods.batch import Batch
from metamixup.methods.method import Method, Net
from metamixup.mixing import Mixture, soft_cross_entropy


class Supervised(Method):
    """`smoothing` spreads that share of every label over all classes (label smoothing, a rival of mixing)."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        labels = mixture.labels(batch.y)
        if self.smoothing:
            labels = labels.lerp(torch.full_like(labels, 1 / labels.shape[1]), self.smoothing)
        return {"supervised": soft_cross_entropy(net(mixture.inputs(batch.x)), labels)}
