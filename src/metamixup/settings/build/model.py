"""The network of a run, and the weights that it starts from."""

import torch
from torch import nn

from metamixup import models
from metamixup.data import DataSet
from metamixup.engine.growth import sized
from metamixup.errors import UserError
from metamixup.models.pretrained import adopt, freeze, read_weights
from metamixup.seeding import derived_seed
from metamixup.settings.schema import Settings, StartSettings


def build_model(settings: Settings, found: DataSet) -> nn.Module:
    """Initial weights are a function of the seed alone, so that methods can be compared from the same start."""
    return model_for(settings, found.num_classes, found.shape)


def model_for(settings: Settings, num_classes: int, shape: tuple[int, int, int]) -> nn.Module:
    channels, height, width = shape
    torch.manual_seed(derived_seed(settings.seed, "model"))
    return models.build(settings.model, num_classes, channels, (height, width))


def check_model(settings: Settings, found: DataSet) -> None:
    """Refuse a model that cannot take the images in every size that they grow through."""
    channels, *size = found.shape
    growing = [sized(size, height) for height in settings.augment.grow]
    models.check(settings.model, found.num_classes, channels, (size[0], size[1]), growing)


def prepare_start(settings: StartSettings, model: nn.Module) -> None:
    """Weights that the user brings, and layers that stand still."""
    if settings.weights is not None:
        adopt(model, read_weights(settings.weights), settings.new_head)
    freeze(model, settings.freeze)
    if not any(p.requires_grad for p in model.parameters()):
        raise UserError("every layer is frozen (start.freeze), so there is nothing to train; leave out the last one")
