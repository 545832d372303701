"""Generalised cross entropy (Zhang & Sabuncu 2018), between cross entropy and the absolute error: (1 − p_y^q)/q. A
sample whose label the network finds unlikely pulls less."""

from torch import Tensor

from metamixup.methods.method import Batch, Method, Net
from metamixup.mixing import Mixture


class GCE(Method):
    """q: 0.7 in the source."""

    def __init__(self, q: float = 0.7):
        self.q = q

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        logits = net(mixture.inputs(batch.x))
        each = (1 - logits.softmax(1).clamp_min(1e-7) ** self.q) / self.q
        return {"supervised": (mixture.labels(batch.y).to(each) * each).sum(1).mean()}
