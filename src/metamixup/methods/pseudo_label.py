"""Pseudo-Label (Lee, 2013): confident predictions serve as labels. The lines of Algorithm 2 that are not the meta
stage stand here; those that are stand in meta/algorithm.py, which calls `loss` on Φ′ as the engine does on Φ."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from metamixup.methods.batch_norm import predict
from metamixup.methods.blocks import block_pairs, counted, joined, masked_mean
from metamixup.methods.method import Batch, Net
from metamixup.methods.ramp import Ramp
from metamixup.methods.semi_supervised import SemiSupervised
from metamixup.mixing import Mixture, Pairs, own_partners, soft_cross_entropy, soft_labels


class PseudoLabel(SemiSupervised):
    """sigma: the confidence above which a prediction is a label."""

    def __init__(self, sigma: float = 0.95, weight: float = 1.0, ramp: Ramp | None = None):
        if not 0 < sigma <= 1:
            raise ValueError(f"σ_0 lies in (0, 1], not {sigma}")
        super().__init__(weight, ramp or Ramp())
        self.sigma = sigma

    def threshold(self, batch: Batch) -> float:
        return self.sigma

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        sigma = self.threshold(batch)
        self.note(batch, sigma=sigma)
        # line 3: ȳ_j = argmax Φ(x_j, θ) if Φ(x_j, θ) > σ
        p = predict(model, joined(batch.u))
        confidence, label = p.max(1)
        return replace(batch, guesses=soft_labels(label, p.shape[1], p.dtype), mask=(confidence > sigma).to(p.dtype))

    def pairs(self, batch: Batch, generator: torch.Generator) -> Pairs:
        # line 2: 2B coefficients, one for each labelled and each unlabelled sample; the blocks keep to themselves
        return block_pairs(batch, own_partners([len(batch.x), len(joined(batch.u))], generator))

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        # lines 8 and 12: MixUp with λ, and again with λ*
        logits = net(mixture.inputs(joined(batch.x, batch.u)))
        targets = mixture.labels(joined(batch.y, batch.guesses))
        mask = counted(joined(torch.ones_like(batch.y[:, 0]), batch.mask), mixture)
        # lines 9 and 13: L_s(D̃_L) + L_us(D̃_UL), samples below σ masked out
        losses, n = soft_cross_entropy(logits, targets, reduction="none"), len(batch.x)
        unlabelled = self.unlabelled_weight(batch) * masked_mean(losses[n:], mask[n:])
        return {"supervised": masked_mean(losses[:n], mask[:n]), "pseudo_label": unlabelled}
