"""Learned mixing for loops that have but a slot for a function of the batch, (x, y) → (x, y).

`Mixup` has the shape of timm's, `MixUp` that of torchvision's transforms v2. Both blend at the input alone.
"""

from typing import Any

from torch import Tensor, nn

from metamixup.errors import UserError
from metamixup.mixer import MetaMixUp


class Mixup:
    """`x, y = mixup_fn(x, y)`, as timm's training loop calls it; y becomes (B, C) soft labels.

    model: what is trained;
    num_classes: of the labels;
    options: go to `MetaMixUp`: meta, lr, policy, estimator, every, seed.
    """

    def __init__(self, model: nn.Module, num_classes: int, **options: Any):
        if options.get("mix_at", "input") != "input":
            raise UserError("a function of the batch blends inputs; for mix_at use MetaMixUp in the loop itself")
        self.mixer = MetaMixUp(model, num_classes, **options)

    def __call__(self, x: Tensor, target: Tensor, index: Any = None) -> tuple[Tensor, Tensor]:
        mixed = self.mixer(x, target, index=index)
        return mixed.x, mixed.y


class MixUp(nn.Module):
    """`batch = mixup(batch)` or `x, y = mixup(x, y)`, as torchvision's; more than (x, y, index) passes as it is.

    model: what is trained, which is not a part of this module;
    num_classes: of the labels;
    options: go to `MetaMixUp`: meta, lr, policy, estimator, every, seed.
    """

    def __init__(self, model: nn.Module, num_classes: int, **options: Any):
        super().__init__()
        self._mixup = Mixup(model, num_classes, **options)

    def forward(self, *inputs: Any) -> Any:
        x, y, *rest = inputs if len(inputs) > 1 else inputs[0]
        return (*self._mixup(x, y, *rest[:1]), *rest)
