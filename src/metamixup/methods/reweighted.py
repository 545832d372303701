"""The weighted cross entropy of learning to reweight; its weights come from `policy.reweight.Reweight`."""

from torch import Tensor

from metamixup.methods.batch import Batch
from metamixup.methods.method import Method, Net
from metamixup.mixing import Mixture, soft_cross_entropy


class Reweighted(Method):
    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        losses = soft_cross_entropy(net(batch.x), batch.y, reduction="none")
        return {"supervised": (mixture.lam.to(losses.dtype) * losses).sum()}
