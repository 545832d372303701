"""Train as usual, then the classifier alone: on the clean meta images, which shows how far such a set goes without
learning λ, or on training images of all classes equally often, for rare ones (Zhong et al. 2021)."""

import math
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
        return {"supervised": self.tuning_loss(logits.detach().lerp(logits, RATE), batch.y)}

    def tuning_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """logits, labels: (B, C); of the logits' gradient only the share RATE reaches the classifier."""
        return soft_cross_entropy(logits, labels)

    def recorded(self, mixture: Mixture) -> Mixture:
        return replace(mixture, lam=torch.ones_like(mixture.lam)) if self._tuning else mixture


class BalancedHead(TunedHead):
    """MiSLAS (Zhong et al. 2021), its stage 2 at the end of the run: the classifier is trained on batches that show
    every class equally often, its rows are scaled by learned factors, and labels are smoothed the more the more often
    their class is seen. The values are the source's for CIFAR-10 with a tail of 50 : 1.

    tuned: the share of the run that stage 2 takes;
    most, least: the share of a label that is spread over all classes, of the most frequent class and of the rarest.
    """

    tuned_on = "balanced"

    def __init__(self, tuned: float = 0.1, most: float = 0.2, least: float = 0.0):
        super().__init__(tuned)
        self.most, self.least = most, least
        self.smoothing_by_class = torch.zeros(1)
        self._scale = nn.ParameterList()

    def count(self, counts: Tensor) -> None:
        """Between both ends the share follows a sine: the source's concave form."""
        low, high = counts.min(), counts.max()
        place = (counts - low) / (high - low).clamp_min(1)
        self.smoothing_by_class = self.least + (self.most - self.least) * torch.sin(place * math.pi / 2)

    def setup(self, model: nn.Module) -> None:
        super().setup(model)
        self._scale = nn.ParameterList([torch.ones(len(next(self._head.parameters())))])

    def modules(self) -> dict[str, nn.Module]:
        return {"scale": self._scale}

    def tuning_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        share = labels @ self.smoothing_by_class.to(labels)
        even = torch.full_like(labels, 1 / labels.shape[1])
        return soft_cross_entropy(logits * self._scale[0], labels.lerp(even, share[:, None]))

    @torch.no_grad()
    def after_step(self, model: nn.Module, batch: Batch) -> None:
        """The factors become part of the classifier at once, so that its weights are the whole network."""
        if self._tuning:
            for p in self._head.parameters():
                p.mul_(self._scale[0].view(-1, *[1] * (p.ndim - 1)))
            self._scale[0].fill_(1)
