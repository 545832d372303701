"""A network whose last linear layer alone takes a virtual step."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from metamixup import world
from metamixup.mixing import Mixture
from metamixup.mixing.at import BlendPoint
from metamixup.network import Parameters, network


class Unblended(Mixture):
    """Leaves a whole batch as it is, since it is blended inside of the network; labels are blended as ever."""

    waiting = 0

    def inputs(self, x: Tensor) -> Tensor:
        if len(x) != len(self.lam):
            return super().inputs(x)
        object.__setattr__(self, "waiting", self.waiting + 1)
        return x

    def features(self, h: Tensor) -> Tensor:
        return super().inputs(h)


class Headed:
    """Φ whose classifier is moved by `step`, {"weight": ΔW, "bias": Δb}; no other parameter is seen by gradients.

    centred: the step acts on h − h̄ in place of the features h. point: where a plain mixture is blended; inside of the
    network, nothing before it needs a graph.
    """

    def __init__(self, model: nn.Module, name: str, centred: bool, point: BlendPoint):
        self.layer, self.centred, self.point = model.get_submodule(name), centred, point
        self.net = network(model, {})
        self.step: Parameters = {}
        self.deferred: Unblended | None = None
        self.blended = 0

    def __call__(self, *inputs: Any, **named: Any) -> Tensor:
        return self.net(*inputs, **named)

    @contextmanager
    def hooked(self) -> Iterator[None]:
        with ExitStack() as hooks:
            hooks.enter_context(self.layer.register_forward_hook(self._moved))
            if self.point.module is not None and self.point.before:
                hooks.enter_context(self.point.module.register_forward_pre_hook(lambda _, x: self._blend(x[0])))
            elif self.point.module is not None:
                hooks.enter_context(self.point.module.register_forward_hook(lambda _, __, out: self._blend(out)))
            yield

    def blending(self, mixture: Mixture) -> Mixture:
        """The mixture as a method should see it on this network; only a plain one can wait for its point inside."""
        if self.point.module is None or type(mixture) is not Mixture:
            return mixture
        self.deferred = Unblended(mixture.lam, mixture.partner, own_labels=mixture.own_labels)
        return self.deferred

    def each_blend_was_made(self) -> bool:
        """Was each deferred blend made, once? Not if the method takes its inputs apart before it calls the network."""
        deferred, self.deferred = self.deferred, None
        return deferred is None or deferred.waiting == self.blended <= 1

    def _blend(self, h: Tensor) -> Tensor | None:
        if self.deferred is None or not self.deferred.waiting:
            return None
        self.blended += 1
        return self.deferred.features(h) if len(h) == len(self.deferred.lam) else None

    def _moved(self, _: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        h = inputs[0]
        if self.centred:
            h = h - world.joint_mean(h.mean(tuple(range(h.ndim - 1))))
        return output + F.linear(h, self.step["weight"], self.step.get("bias"))


def rates_of(model: nn.Module, name: str, eta: Mapping[str, float]) -> dict[str, float]:
    """η of the classifier's own weight and bias. By identity: a tied weight is listed once, under its first owner."""
    by_id = {id(p): eta[n] for n, p in model.named_parameters() if n in eta}
    own = model.get_submodule(name).named_parameters(recurse=False)
    return {key: by_id[id(p)] for key, p in own if id(p) in by_id}
