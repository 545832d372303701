"""Wide ResNets of any depth and width (Zagoruyko and Komodakis), and the form that the protocol of Oliver et al. gives
them for semi-supervised learning."""

from torch import nn

from metamixup.models.preact_block import PLAIN, Form, PreActBlock
from metamixup.models.staged import Staged, global_average, initialise

# BatchNorm averages over thousands of steps here: evaluate such a model only after as many.
PROTOCOL = Form(slope=0.1, momentum=0.001, eps=1e-3)


def wide_resnet(depth: int, width: int, form: Form, num_classes: int, in_channels: int) -> Staged:
    """depth = 6n + 4; groups of 16k, 32k and 64k channels, n blocks each."""
    if depth < 10 or (depth - 4) % 6 or width < 1:
        raise ValueError(f"a wide ResNet has 6n + 4 layers (10, 16, 22, 28, …) and width ≥ 1, not {depth} and {width}")
    stages: dict[str, nn.Module] = {"stem": nn.Conv2d(in_channels, 16, 3, padding=1, bias=False)}
    channels = 16
    for group, base in enumerate((16, 32, 64)):
        out = base * width
        # The protocol activates before the residual in the very first block only.
        activate_shortcut = None if form == PLAIN else group == 0
        first = PreActBlock(channels, out, 1 if group == 0 else 2, form, activate_shortcut)
        rest = [PreActBlock(out, out, form=form) for _ in range((depth - 4) // 6 - 1)]
        stages[f"layer{group + 1}"] = nn.Sequential(first, *rest)
        channels = out
    active = nn.LeakyReLU(form.slope) if form.slope else nn.ReLU()
    stages["pool"] = nn.Sequential(form.norm(channels), active, *global_average())
    model = Staged(stages, channels, num_classes, mixable=("layer1", "layer2"))
    initialise(model.stages)
    return model
