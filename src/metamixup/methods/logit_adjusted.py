"""The logit-adjusted loss (Menon et al. 2021) for rare classes: cross entropy of logits to which the logarithm of each
class's share of the training set is added. Predictions use the plain logits, so rare classes are not held down."""

import torch
from torch import Tensor

from metamixup.methods.method import Batch, Method, Net
from metamixup.mixing import Mixture, soft_cross_entropy


class LogitAdjusted(Method):
    """tau: the weight of the logarithm; 1 is what the source's theory says."""

    def __init__(self, tau: float = 1.0):
        self.tau = tau
        self.log_shares = torch.zeros(1)

    def count(self, counts: Tensor) -> None:
        self.log_shares = (counts.clamp_min(1) / counts.clamp_min(1).sum()).log()

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        logits = net(mixture.inputs(batch.x))
        adjusted = logits + self.tau * self.log_shares.to(logits)
        return {"supervised": soft_cross_entropy(adjusted, mixture.labels(batch.y))}
