"""What methods with unlabelled data share: a weight of the unlabelled loss that is ramped up, and recorded."""

from torch import Tensor

from metamixup.methods.method import Batch, Method, Net
from metamixup.methods.ramp import Ramp
from metamixup.mixing import soft_cross_entropy


class SemiSupervised(Method):
    """weight: of the loss on unlabelled samples, once the ramp is over."""

    unlabelled = True

    def __init__(self, weight: float, ramp: Ramp):
        if weight < 0:
            raise ValueError(f"the weight of the unlabelled loss is at least 0, not {weight}")
        self.weight, self.ramp = weight, ramp
        self._latest: dict[str, float] = {}

    def note(self, batch: Batch, **numbers: float) -> None:
        """Keep this step's numbers for the record; called by `prepare`, so an epoch's record shows its last step."""
        self._latest = {"ramp": self.ramp(batch), **numbers}

    def unlabelled_weight(self, batch: Batch) -> float:
        return self.weight * self.ramp(batch)

    def plain_loss(self, net: Net, batch: Batch) -> Tensor:
        return soft_cross_entropy(net(batch.x), batch.y)

    def records(self) -> dict[str, float]:
        return dict(self._latest)
