"""AdaMixUp (Guo, Mao and Zhang 2019): a generator proposes an interval [a, a + b] of λ for each pair, and a
discriminator of real and blended samples keeps the blends off the manifold of the real ones.

One half of the batch makes the pairs, the other is 'unseen'. All losses are minimised together by one optimizer. The
discriminator reads the features of the very model that `setup` saw, so `loss` serves that model (or a functional form
of it) and no copy.
"""

import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from metamixup import world
from metamixup.methods.method import Batch, Method, Net
from metamixup.mixing import Mixture, Pairs, own_partners, soft_cross_entropy
from metamixup.network import captured_inputs, classifier_name


@dataclass(frozen=True)
class GatedBatch(Batch):
    """gates: (2, P, …) the noise m1, m2 by which the generator sees the P pairs; half: P."""

    gates: Tensor | None = None

    @property
    def half(self) -> int:
        return paired(len(self.x))


def paired(batch_size: int) -> int:
    """How many samples make pairs; the others are unseen."""
    return (batch_size + 1) // 2


class AdaMixUp(Method):
    """λ = a + u·b with (a, b, c) from the generator's softmax; u comes from the policy, which draws it uniformly."""

    def __init__(self, discriminate: bool = True):
        self.discriminate = discriminate

    def setup(self, model: nn.Module) -> None:
        name = classifier_name(model)
        self.classifier = cast(nn.Linear, model.get_submodule(name))
        self.generator = with_head(model, name, small_linears(self.classifier.in_features, 100, 3))
        self.discriminator = small_linears(self.classifier.in_features, self.classifier.out_features, 2)
        self._used: Tensor | None = None

    def modules(self) -> dict[str, nn.Module]:
        found: dict[str, nn.Module] = {"generator": self.generator}
        return found | ({"discriminator": self.discriminator} if self.discriminate else {})

    def pairs(self, batch: Batch, generator: torch.Generator) -> Pairs:
        half = paired(len(batch.x))
        partner = own_partners([half], generator).to(batch.x.device)
        index = None if batch.index is None else batch.index[:half]
        return Pairs(partner, batch.y[:half], index, positions=world.global_positions([half]))

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        shape = (2, paired(len(batch.x)) * world.size(), *batch.x.shape[1:])
        # A normal cut off at two deviations, by its inverse distribution function.
        low = 0.5 * (1 + torch.erf(torch.tensor(-(2**0.5))))
        uniform = low + (1 - 2 * low) * world.part(torch.rand(shape, generator=generator), 1)
        gates = torch.special.ndtri(uniform).to(batch.x.device, batch.x.dtype)
        return GatedBatch(**{**vars(batch), "gates": gates})

    def regions(self, batch: GatedBatch, partner: Tensor) -> Tensor:
        """(P, 3): a, b and the rest, which add up to one."""
        assert batch.gates is not None
        x1 = batch.x[: batch.half]
        seen = (batch.gates[0] * x1 + batch.gates[1] * x1[partner]) / 2
        return self.generator(seen).softmax(1)

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        assert isinstance(batch, GatedBatch)
        a, b, _ = self.regions(batch, mixture.partner).unbind(1)
        blend = replace(mixture, lam=a + mixture.lam.to(a.dtype) * b)
        self._used = blend.lam.detach()
        x1, y1 = batch.x[: batch.half], batch.y[: batch.half]
        labels = torch.cat([blend.labels(y1), y1])
        images = [blend.inputs(x1), x1]
        if not self.discriminate:
            return {"supervised": soft_cross_entropy(net(torch.cat(images)), labels)}
        with captured_inputs(self.classifier) as features:
            logits = net(torch.cat([*images, batch.x[batch.half :]]))
        real = (torch.arange(len(logits), device=logits.device) >= batch.half).long()
        return {
            "supervised": soft_cross_entropy(logits[: 2 * batch.half], labels),
            "discriminator": F.cross_entropy(self.discriminator(features[-1].to(batch.x.dtype)), real),
        }

    def recorded(self, mixture: Mixture) -> Mixture:
        return mixture if self._used is None else replace(mixture, lam=self._used)


def with_head(model: nn.Module, name: str, head: nn.Module) -> nn.Module:
    """A copy of the model with another head in the place of its classifier."""
    if not name:
        return head
    twin = copy.deepcopy(model)
    parent, _, leaf = name.rpartition(".")
    setattr(twin.get_submodule(parent), leaf, head)
    return twin


def small_linears(*sizes: int) -> nn.Sequential:
    """Linear layers without non-linearities, N(0, 1e-3²) weights: all regions and verdicts begin alike."""
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    for layer in layers:
        nn.init.normal_(layer.weight, std=1e-3)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)
