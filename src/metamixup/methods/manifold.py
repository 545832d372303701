"""Manifold MixUp (Verma et al. 2019): blends at the input or after one of the first stages, drawn anew each step."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from metamixup.errors import UserError, unknown
from metamixup.methods.method import Batch, Method, Net
from metamixup.mixing import Mixture, Pairs, soft_cross_entropy
from metamixup.mixing.at import mix_at

INPUT = "input"


@dataclass(frozen=True)
class StagedBatch(Batch):
    """`stage` names the module after which this batch is blended, or "input"."""

    stage: str = INPUT


class Manifold(Method):
    """`stages` names the modules that are eligible besides the input; by default those the model calls `mixable`."""

    def __init__(self, stages: tuple[str, ...] = ()):
        self.stages = stages
        self.modules_by_stage: dict[str, nn.Module] = {}

    def setup(self, model: nn.Module) -> None:
        known = {name: module for name, module in model.named_modules() if name}
        names = self.stages or tuple(getattr(model, "mixable", ()))
        if not names:
            raise UserError(
                f"method 'manifold' does not know where to blend in a {type(model).__name__}: give it a `mixable` "
                f"attribute with names out of {', '.join(list(known)[:8])}, …"
            )
        for name in names:
            if name != INPUT and name not in known:
                raise unknown("stage", name, known)
        self.modules_by_stage = {name: known[name] for name in names if name != INPUT}

    def prepare(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Batch:
        eligible = (INPUT, *self.modules_by_stage)
        drawn = int(torch.randint(len(eligible), (), generator=generator))
        return StagedBatch(**{**vars(batch), "stage": eligible[drawn]})

    def pairs(self, batch: Batch, generator: torch.Generator) -> Pairs:
        return replace(super().pairs(batch, generator), image_size=None)  # what a stage puts out is no image

    def loss(self, net: Net, batch: Batch, mixture: Mixture) -> dict[str, Tensor]:
        stage = batch.stage if isinstance(batch, StagedBatch) else INPUT
        if stage == INPUT:
            logits = net(mixture.inputs(batch.x))
        else:
            with mix_at(self.modules_by_stage[stage], mixture):
                logits = net(batch.x)
        return {"supervised": soft_cross_entropy(logits, mixture.labels(batch.y))}
