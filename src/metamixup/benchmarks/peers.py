"""The same meta-gradient by two libraries that unroll the virtual step with autograd (extra `bench`)."""

import copy
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from metamixup.meta import Estimator
from metamixup.meta.estimator import Loss, MetaLoss
from metamixup.mixing import Mixture


class Higher:
    """facebookresearch/higher: a functional copy of the model and a differentiable SGD."""

    def __call__(
        self, model: nn.Module, loss: Loss, meta_loss: MetaLoss, mixture: Mixture, eta: Mapping[str, float]
    ) -> Tensor:
        import higher

        mixture = mixture.with_gradient()
        optimizer = torch.optim.SGD(model.parameters(), lr=next(iter(eta.values())))
        with higher.innerloop_ctx(model, optimizer, copy_initial_weights=True) as (net, virtual):
            virtual.step(loss(net, mixture))
            return torch.autograd.grad(meta_loss(net), mixture.lam)[0]


class TorchOpt:
    """metaopt/torchopt: a differentiable SGD on the model itself, whose state is saved and restored around it."""

    def __call__(
        self, model: nn.Module, loss: Loss, meta_loss: MetaLoss, mixture: Mixture, eta: Mapping[str, float]
    ) -> Tensor:
        import torchopt

        mixture = mixture.with_gradient()
        twin = copy.deepcopy(model)
        optimizer = torchopt.MetaSGD(twin, lr=next(iter(eta.values())))
        optimizer.step(loss(twin, mixture))
        return torch.autograd.grad(meta_loss(twin), mixture.lam)[0]


PEERS: dict[str, Callable[[], Estimator]] = {"higher": Higher, "torchopt": TorchOpt}


def installed() -> dict[str, Estimator]:
    """The peers that can be imported here."""
    found: dict[str, Estimator] = {}
    for name, make in PEERS.items():
        try:
            __import__(name)
        except ImportError:
            continue
        found[name] = make()
    return found
