"""MixMatch (Berthelot et al., 2019). MixUp is the policy Beta(0.75), MetaMixUp a learned one, no mixing λ = 1."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from metamixup.methods.batch_norm import frozen_statistics, predict
from metamixup.methods.blocks import block_pairs, joined
from metamixup.methods.ema import EMA
from metamixup.methods.method import Batch, Net
from metamixup.methods.ramp import Ramp
from metamixup.methods.semi_supervised import SemiSupervised
from metamixup.mixing import Mixture, Pairs, own_partners, sharpen, soft_cross_entropy


def interleaved(sizes: list[int]) -> list[Tensor]:
    """Which samples pass together, as positions in the joined blocks. Part i of the first block changes places with
    part i of block i, so that BatchNorm sees labelled and unlabelled samples alike in every pass."""
    parts = [_parts(block, len(sizes)) for block in torch.arange(sum(sizes)).split(sizes)]
    for i in range(1, len(sizes)):
        parts[0][i], parts[i][i] = parts[i][i], parts[0][i]
    return [torch.cat(part) for part in parts]


def _parts(block: Tensor, count: int) -> list[Tensor]:
    """Nearly equal parts; the last ones are longer, as in the authors' code."""
    short, longer = divmod(len(block), count)
    return list(block.split([short + (i >= count - longer) for i in range(count)]))


def folded(mixture: Mixture) -> Mixture:
    """λ = max(λ, 1−λ): a blend stays nearer to its first sample, whose block decides which loss it has."""
    return replace(mixture, lam=torch.maximum(mixture.lam, 1 - mixture.lam))


class MixMatch(SemiSupervised):
    """weight: λ_u; augmentations: K, the views averaged for a guess; decay: of the evaluated EMA."""

    def __init__(
        self,
        weight: float = 75.0,
        temperature: float = 0.5,
        augmentations: int = 2,
        decay: float = 0.999,
        ramp: Ramp | None = None,
        warmup: bool = True,
    ):
        if augmentations < 1:
            raise ValueError(f"a guess needs K ≥ 1 augmentations, not {augmentations}")
        if temperature <= 0:
            raise ValueError(f"sharpening needs a temperature above 0, not {temperature}")
        super().__init__(weight, ramp or Ramp("linear", 16_384))
        self.temperature, self.views = temperature, augmentations
        self.decay, self.warmup = decay, warmup

    def setup(self, model: nn.Module) -> None:
        self.ema = EMA(model, self.decay, self.warmup)

    def modules(self) -> dict[str, nn.Module]:
        return {"ema": self.ema.module}

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        self.note(batch)
        views = self._unlabelled(batch).split(len(joined(batch.u)))
        mean = torch.stack([predict(model, view) for view in views]).mean(0)
        return replace(batch, guesses=sharpen(mean, self.temperature))

    def pairs(self, batch: Batch, generator: torch.Generator) -> Pairs:
        """Partners come from the shuffled union of labelled and unlabelled samples, B + K·U of them."""
        n = len(batch.x) + self.views * len(joined(batch.u))
        pairs = block_pairs(batch, own_partners([n], generator), copies=self.views)
        return replace(pairs, folded=True, image_size=None)  # λ is folded, and a box would have to be too

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        n, mixture = len(batch.x), folded(mixture)
        inputs = mixture.inputs(joined(batch.x, self._unlabelled(batch)))
        targets = mixture.labels(joined(batch.y, *[batch.guesses] * self.views))
        logits = self._logits(net, inputs, [n] + [len(joined(batch.u))] * self.views)
        distance = F.mse_loss(logits[n:].softmax(1), targets[n:])
        return {
            "supervised": soft_cross_entropy(logits[:n], targets[:n]),
            "consistency": self.unlabelled_weight(batch) * distance,
        }

    def recorded(self, mixture: Mixture) -> Mixture:
        return folded(mixture)

    def after_step(self, model: nn.Module, batch: Batch) -> None:
        self.ema.update(model, batch.step)

    def evaluated(self, model: nn.Module) -> tuple[str, nn.Module]:
        return "ema", self.ema.module

    def _unlabelled(self, batch: Batch) -> Tensor:
        """Every view of every unlabelled sample, (K·U, …)."""
        return joined(batch.u) if self.views == 1 else joined(batch.u, batch.u2)

    @staticmethod
    def _logits(net: Net, inputs: Tensor, sizes: list[int]) -> Tensor:
        """Interleaved passes; BatchNorm's running statistics learn from the first only."""
        first, *others = groups = interleaved(sizes)
        logits = torch.cat([net(inputs[first]), *[frozen_statistics(net)(inputs[group]) for group in others]])
        return logits[torch.cat(groups).argsort()]
