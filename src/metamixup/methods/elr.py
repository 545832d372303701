"""Early-learning regularisation (Liu et al. 2020): the network is held to its own earlier predictions, so that it does
not come to learn wrong labels by heart. The loss gains weight·mean log(1 − ⟨p, t⟩), where t is the running mean of a
sample's predictions; blends of samples have blends of their t."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.methods.method import Batch, Net
from metamixup.methods.running import Remembering, predictions
from metamixup.mixing import Mixture, soft_cross_entropy


class ELR(Remembering):
    """weight, memory: λ and β of the source, its values for CIFAR-10."""

    def __init__(self, weight: float = 3.0, memory: float = 0.7):
        super().__init__()
        self.weight, self.beta = weight, memory
        self.memory = torch.zeros(0, 0)  # rows: a checkpoint of it has this form

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        assert batch.index is not None
        p = predictions(model, batch)
        index, everyone = world.gathered(batch.index), world.gathered(p)
        self.memory[index] = self.rows(index, everyone).lerp(everyone, 1 - self.beta)
        return replace(batch, guesses=self.memory[batch.index])

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        assert batch.guesses is not None
        logits = net(mixture.inputs(batch.x))
        agreement = (logits.softmax(1) * mixture.labels(batch.guesses.to(logits))).sum(1)
        held = self.weight * (1 - agreement).clamp_min(1e-4).log().mean()
        return {"supervised": soft_cross_entropy(logits, mixture.labels(batch.y)), "early": held}
