"""Forward passes in which BatchNorm normalises by the batch but leaves its running statistics as they are."""

import torch
from torch import Tensor, nn
from torch.func import functional_call

from metamixup.methods.method import Net


def frozen_statistics(net: Net) -> Net:
    """The same network, gradients included, working on copies of its buffers.

    A net that is no module (a looked-ahead one) has copies already and is returned as it is; of a compiled one the
    plain form is used.
    """
    module = getattr(net, "plain", net)
    if not isinstance(module, nn.Module):
        return net
    # Weights are not tied here: a module with two names (Fabric's wrapper has them) would be swapped twice, and keep
    # the copies.
    return lambda x: functional_call(module, _copied(module), (x,), tie_weights=False)


def _copied(module: nn.Module) -> dict[str, Tensor]:
    return {name: buffer.clone() for name, buffer in module.named_buffers()}


@torch.no_grad()
def predict(net: Net, x: Tensor) -> Tensor:
    """Class probabilities, (B, C), in the mode the network is in."""
    return frozen_statistics(net)(x).softmax(1)
