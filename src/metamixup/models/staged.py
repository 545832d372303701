"""The form all models here share: named stages, then a linear classifier. So Manifold MixUp, feature studies and
head-only gradients need no special cases."""

from torch import Tensor, nn


class Staged(nn.Module):
    """`stages` turn (B, C, H, W) into features (B, F), `classifier` turns those into logits (B, num_classes).

    `mixable` names the stages after which Manifold MixUp may blend: the first ones, as its authors have it.
    """

    def __init__(self, stages: dict[str, nn.Module], features: int, num_classes: int, mixable: tuple[str, ...]):
        super().__init__()
        self.stages = nn.Sequential()
        for name, stage in stages.items():
            self.stages.add_module(name, stage)
        self.classifier = nn.Linear(features, num_classes)
        self.mixable = tuple(f"stages.{name}" for name in mixable)

    def features(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, F)."""
        return self.stages(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


def initialise(model: nn.Module) -> None:
    """He et al.'s normal weights for convolutions and hidden layers, biases 0."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def global_average() -> nn.Sequential:
    """(B, F, H, W) → (B, F), for images of any size."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
