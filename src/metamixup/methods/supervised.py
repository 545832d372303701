"""Cross entropy of blended samples with blended labels (baseline, MixUp, fixed λ and MetaMixUp differ by policy alone),
and of weighted samples that are not blended."""

from torch import Tensor

from metamixup.methods.method import Batch, Method, Net
from metamixup.mixing import Mixture, smoothed, soft_cross_entropy


class Supervised(Method):
    """`smoothing` spreads that share of every label over all classes (label smoothing, a rival of mixing)."""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        labels = smoothed(mixture.labels(batch.y), self.smoothing)
        return {"supervised": soft_cross_entropy(net(mixture.inputs(batch.x)), labels)}


class Reweighted(Method):
    """Learning to reweight (Ren et al. 2018): the mixture's λ are the samples' weights, from `policy.reweight`."""

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        losses = soft_cross_entropy(net(batch.x), batch.y, reduction="none")
        return {"supervised": (mixture.lam.to(losses.dtype) * losses).sum()}
