"""The Π-Model (Laine and Aila, 2017), with the target held constant as Oliver et al. do: the student guesses."""

from torch import Tensor, nn

from metamixup.methods.batch import Batch
from metamixup.methods.blocks import joined
from metamixup.methods.consistency import Consistency
from metamixup.methods.quiet import predict
from metamixup.methods.ramp import Ramp


class PiModel(Consistency):
    def __init__(self, weight: float = 20.0, ramp: Ramp | None = None):
        super().__init__(weight, ramp)

    def guess(self, model: nn.Module, batch: Batch) -> Tensor:
        return predict(model, joined(batch.u2))
