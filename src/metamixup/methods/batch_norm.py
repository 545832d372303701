"""Forward passes in which BatchNorm normalises by the batch but leaves its running statistics as they are."""

import torch
from torch import Tensor, nn

from metamixup.methods.method import Net
from metamixup.network import network


def frozen_statistics(net: Net) -> Net:
    """The same network, gradients included, working on copies of its buffers.

    A net that is no module (a looked-ahead one) has copies already and is returned as it is; of a compiled one the
    plain form is used.
    """
    module = getattr(net, "plain", net)
    if not isinstance(module, nn.Module):
        return net
    return network(module, dict(module.named_parameters()))


@torch.no_grad()
def predict(net: Net, x: Tensor) -> Tensor:
    """Class probabilities, (B, C), in the mode the network is in."""
    return frozen_statistics(net)(x).softmax(1)
