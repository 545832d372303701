"""The network of a run, and the weights that it starts from."""

import torch
from torch import nn

from metamixup import models
from metamixup.data import DataSet
from metamixup.data.stream import Normalise
from metamixup.engine.growth import sized
from metamixup.errors import UserError
from metamixup.models.pretrained import adopt, freeze, read_weights
from metamixup.models.whitening import Whitening
from metamixup.seeding import derived_seed
from metamixup.settings.schema import Settings, StartSettings

WHITENED = 5000  # training images whose patches a whitening layer sees


def build_model(settings: Settings, found: DataSet) -> nn.Module:
    """Initial weights are a function of the seed alone, so that methods can be compared from the same start."""
    return model_for(settings, found.num_classes, found.shape)


def model_for(settings: Settings, num_classes: int, shape: tuple[int, int, int]) -> nn.Module:
    channels, height, width = shape
    torch.manual_seed(derived_seed(settings.seed, "model"))
    return models.build(settings.model, num_classes, channels, (height, width))


def whiten_patches(model: nn.Module, found: DataSet) -> None:
    """A whitening layer looks at training images once, evenly spread; their labels play no part."""
    for layer in model.modules():
        if isinstance(layer, Whitening):
            seen = torch.linspace(0, len(found.train) - 1, min(len(found.train), WHITENED)).long()
            images = found.train.images[seen]
            layer.fit(Normalise(found.mean, found.std, images)(images))


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
