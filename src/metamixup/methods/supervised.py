"""Cross entropy of blended samples with blended labels: baseline, MixUp, fixed λ and MetaMixUp differ by policy."""

from torch import Tensor

from metamixup.methods.batch import Batch
from metamixup.methods.method import Method, Net
from metamixup.mixing import Mixture, soft_cross_entropy


class Supervised(Method):
    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        return {"supervised": soft_cross_entropy(net(mixture.inputs(batch.x)), mixture.labels(batch.y))}
