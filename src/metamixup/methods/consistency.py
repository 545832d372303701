"""Methods that ask one network for the same answer under two augmentations, and the plainest of them, the Π-Model."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from metamixup.methods.batch_norm import predict
from metamixup.methods.blocks import joined
from metamixup.methods.method import Batch, Net
from metamixup.methods.ramp import Ramp
from metamixup.methods.semi_supervised import SemiSupervised
from metamixup.mixing import Mixture, soft_cross_entropy


class Consistency(SemiSupervised):
    """Squared distance between the student's probabilities on u and a guess for u2, which carries no gradient."""

    views = 2

    def __init__(self, weight: float, ramp: Ramp | None = None):
        super().__init__(weight, ramp or Ramp("exponential"))

    def guess(self, model: nn.Module, batch: Batch) -> Tensor:
        """(U, C) probabilities, without gradient."""
        raise NotImplementedError

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        self.note(batch)
        return replace(batch, guesses=self.guess(model, batch))

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        n = len(batch.x)
        # One pass, so that BatchNorm sees labelled and unlabelled samples together.
        logits = net(joined(mixture.inputs(batch.x), batch.u))
        supervised = soft_cross_entropy(logits[:n], mixture.labels(batch.y))
        distance = F.mse_loss(logits[n:].softmax(1), joined(batch.guesses))
        return {"supervised": supervised, "consistency": self.unlabelled_weight(batch) * distance}


class PiModel(Consistency):
    """Laine and Aila (2017), with the target held constant as Oliver et al. do: the student itself guesses."""

    def __init__(self, weight: float = 20.0, ramp: Ramp | None = None):
        super().__init__(weight, ramp)

    def guess(self, model: nn.Module, batch: Batch) -> Tensor:
        return predict(model, joined(batch.u2))
