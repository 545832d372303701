"""Train as usual, then only the classifier on the clean meta images: how far such a set goes without learning λ."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from metamixup import world
from metamixup.errors import UserError
from metamixup.methods.method import Batch, Net
from metamixup.methods.supervised import Supervised
from metamixup.mixing import Mixture, soft_cross_entropy
from metamixup.network import classifier_name

RATE = 0.2  # of the classifier, as a share of the run's: what Zhong et al. have for CIFAR-10 with a tail of 50 : 1


class TunedHead(Supervised):
    """tuned: the share of the run, at its end, in which the classifier alone is trained on unblended meta images, with
    a rate of its own."""

    def __init__(self, tuned: float = 0.1):
        super().__init__()
        self.tuned = tuned
        self._tuning = False

    def setup(self, model: nn.Module) -> None:
        if world.size() > 1:
            raise UserError("a classifier that is tuned at the end takes one process: its other layers stand still")
        self._head = model.get_submodule(classifier_name(model))

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        self._tuning = self.tunes(batch.progress)
        own = {id(p) for p in self._head.parameters()}
        for p in model.parameters():
            p.requires_grad_(not self._tuning or id(p) in own)
        if self._tuning:
            model.eval()  # BatchNorm keeps what it has seen of the training images
        return batch

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        if not self._tuning:
            return super().loss(net, batch, mixture)
        logits = net(batch.x)  # their gradient is lowered, not they
        return {"supervised": soft_cross_entropy(logits.detach().lerp(logits, RATE), batch.y)}

    def recorded(self, mixture: Mixture) -> Mixture:
        return replace(mixture, lam=torch.ones_like(mixture.lam)) if self._tuning else mixture
