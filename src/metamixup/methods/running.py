"""What rivals for wrong labels remember of each training sample, by its index."""

from typing import Any

import torch
from torch import Tensor, nn

from metamixup.methods.method import Batch, Method
from metamixup.network import leaving_no_trace


def predictions(model: nn.Module, batch: Batch) -> Tensor:
    """(B, C) softmax for the unblended batch; the model is left as it was found."""
    with leaving_no_trace(model), torch.no_grad():
        return model(batch.x).float().softmax(1)


class Remembering(Method):
    """Holds memory: a row for each sample that was seen, zeros before; it lengthens as indices come up."""

    def __init__(self) -> None:
        self.memory = torch.zeros(0)

    def rows(self, index: Tensor, like: Tensor) -> Tensor:
        """The rows of these samples, which all have a place then. index: (B,); like: (B, …) has their form."""
        missing = int(index.max()) + 1 - len(self.memory)
        if missing > 0:
            kept = self.memory.to(like) if len(self.memory) else like.new_zeros(0, *like.shape[1:])
            self.memory = torch.cat([kept, like.new_zeros(missing, *like.shape[1:])])
        return self.memory[index]

    def state_dict(self) -> dict[str, Any]:
        return {"memory": self.memory}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.memory = state["memory"].clone()
