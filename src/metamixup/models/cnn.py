"""The small networks: AdaMixUp's '3-layer CNN' (Table I), one with 2-unit features (feature figure), a small one with
BatchNorm for two CPU cores, and one without convolutions. Inputs are expected in [−1, 1]."""

from torch import nn

from metamixup.models.staged import Staged, global_average, initialise


def conv(channels_in: int, channels_out: int) -> list[nn.Module]:
    return [nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.ReLU()]


def quartered(image_size: tuple[int, int]) -> int:
    """Pixels left of an image after two poolings."""
    if min(image_size) < 4:
        raise ValueError("two poolings leave nothing of images under 4 pixels")
    return (image_size[0] // 4) * (image_size[1] // 4)


def cnn3(num_classes: int, in_channels: int, image_size: tuple[int, int]) -> Staged:
    """Four convolutions of 32, a hidden layer of 512, dropout: what AdaMixUp's code calls three layers."""
    flat = 32 * quartered(image_size)
    stages: dict[str, nn.Module] = {
        "conv1": nn.Sequential(*conv(in_channels, 32), nn.MaxPool2d(2)),
        "conv2": nn.Sequential(*conv(32, 32), *conv(32, 32), nn.MaxPool2d(2)),
        "conv3": nn.Sequential(*conv(32, 32)),
        "hidden": nn.Sequential(nn.Flatten(), nn.Linear(flat, 512), nn.ReLU(), nn.Dropout(0.5)),
    }
    model = Staged(stages, 512, num_classes, mixable=("conv1", "conv2"))
    initialise(model)
    return model


def cnn2d(num_classes: int, in_channels: int, image_size: tuple[int, int]) -> Staged:
    """Features of two units without a non-linearity, so that a plot shows them as the classifier sees them."""
    flat = 64 * quartered(image_size)
    stages: dict[str, nn.Module] = {
        "conv1": nn.Sequential(*conv(in_channels, 32), *conv(32, 32), nn.MaxPool2d(2)),
        "conv2": nn.Sequential(*conv(32, 64), *conv(64, 64), nn.MaxPool2d(2)),
        "hidden": nn.Sequential(nn.Flatten(), nn.Linear(flat, 128), nn.ReLU()),
        "plane": nn.Linear(128, 2),
    }
    model = Staged(stages, 2, num_classes, mixable=("conv1", "conv2"))
    initialise(model)
    return model


def cnn_bn(num_classes: int, in_channels: int, image_size: tuple[int, int]) -> Staged:
    """16-32-64 convolutions with BatchNorm and global pooling: about 25,000 parameters, for quick runs."""
    widths = (in_channels, 16, 32, 64)
    stages: dict[str, nn.Module] = {
        f"conv{k}": nn.Sequential(
            nn.Conv2d(widths[k - 1], widths[k], 3, padding=1, bias=False),
            nn.BatchNorm2d(widths[k]),
            nn.ReLU(),
            nn.MaxPool2d(2) if k < 3 else nn.Identity(),
        )
        for k in (1, 2, 3)
    }
    model = Staged({**stages, "pool": global_average()}, 64, num_classes, mixable=("conv1", "conv2"))
    initialise(model)
    return model


def mlp(num_classes: int, in_channels: int, image_size: tuple[int, int]) -> Staged:
    """Two hidden layers of 256: for tables, and for images as if they were one."""
    flat = in_channels * image_size[0] * image_size[1]
    stages: dict[str, nn.Module] = {
        "hidden1": nn.Sequential(nn.Flatten(), nn.Linear(flat, 256), nn.ReLU()),
        "hidden2": nn.Sequential(nn.Linear(256, 256), nn.ReLU()),
    }
    model = Staged(stages, 256, num_classes, mixable=("hidden1", "hidden2"))
    initialise(model)
    return model
