"""Forward passes that leave no trace: BatchNorm uses the batch's statistics, but its running ones stay as they are."""

import torch
from torch import Tensor, nn
from torch.func import functional_call

from metamixup.methods.method import Net


def quiet(net: Net) -> Net:
    """The same function of its input, gradients included. A net that is no module (a looked-ahead one) works on
    copies of the buffers already, so it is returned as it is; a compiled one serves in its plain form."""
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
    return quiet(net)(x).softmax(1)
