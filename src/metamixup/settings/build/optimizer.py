"""How weights are moved: the optimizer, its learning rate over the run, and averages of the weights."""

from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import SGD, Adam, AdamW, Optimizer

from metamixup.engine.schedule import Schedule
from metamixup.methods.ema import EMA
from metamixup.methods.method import Method
from metamixup.methods.slow_weights import SlowWeights
from metamixup.models.pretrained import parameter_groups
from metamixup.settings.schema import OptimizerSettings


def build_optimizer(settings: OptimizerSettings, model: nn.Module, method: Method, slow: float = 1.0) -> Optimizer:
    """`slow` is a factor on the learning rate of all layers before the classifier."""
    others = [p for network in method.modules().values() for p in network.parameters() if p.requires_grad]
    parameters: Any = [*(p for p in model.parameters() if p.requires_grad), *others]
    if slow != 1 or settings.norm_bias != 1:
        groups = [
            part for group in parameter_groups(model, settings.lr, slow) for part in _apart(group, settings, model)
        ]
        parameters = [*groups, *([{"params": others}] if others else [])]
    if settings.name == "sgd":
        return SGD(parameters, settings.lr, settings.momentum, 0.0, settings.weight_decay, settings.nesterov)
    kind = Adam if settings.name == "adam" else AdamW
    return kind(parameters, settings.lr, weight_decay=settings.weight_decay, fused=_fused())


def _fused() -> bool | None:
    """Adam moves all parameters in one pass: a quarter of the time on a CPU. On a GPU torch chooses, since gradients
    that are scaled for float16 could not be clipped. SGD cannot, where a layer has its first gradient after others."""
    return None if torch.cuda.is_available() else True


def _apart(group: dict[str, Any], settings: OptimizerSettings, model: nn.Module) -> list[dict[str, Any]]:
    """The group without BatchNorm's biases, and these at a rate of their own; both decay equally fast."""
    factor = settings.norm_bias
    norms = {id(m.bias) for m in model.modules() if isinstance(m, _BatchNorm)} if factor != 1 else set()
    fast = [p for p in group["params"] if id(p) in norms]
    rest = {**group, "params": [p for p in group["params"] if id(p) not in norms]}
    biases = {"params": fast, "lr": group["lr"] * factor, "weight_decay": settings.weight_decay / factor}
    return [part for part in (rest, biases) if part["params"]]


def build_schedule(settings: OptimizerSettings, steps: int, steps_per_epoch: int, tuned: int = 0) -> Schedule:
    return Schedule(
        steps=steps,
        shape=settings.schedule,
        warmup=round(settings.warmup_epochs * steps_per_epoch),
        milestones=tuple(settings.milestones),
        gamma=settings.gamma,
        tuned=tuned,
    )


def build_average(settings: OptimizerSettings, model: nn.Module) -> EMA | None:
    return EMA(model, settings.ema) if settings.ema is not None else None


def build_lookahead(settings: OptimizerSettings, model: nn.Module, steps: int) -> SlowWeights | None:
    return SlowWeights(model, settings.lookahead, steps) if settings.lookahead is not None else None
