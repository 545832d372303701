"""Global contrast normalisation and ZCA whitening, as the SSL protocol of Oliver et al. prepares CIFAR-10."""

import hashlib
import os
import zipfile
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from metamixup.data.folder.packed import cache_folder
from metamixup.data.images import DataSet, ImageSet

CHUNK = 2048


def normalise_contrast(images: Tensor, norm: float = 55.0) -> Tensor:
    """Each image centred and scaled to Euclidean norm 55. images: (N, C, H, W) → (N, C·H·W) float32."""
    flat = images.flatten(1).float()
    flat = flat - flat.mean(1, keepdim=True)
    length = flat.norm(dim=1, keepdim=True)
    # A plain image has no contrast to scale: it stays zero.
    return flat * norm / torch.where(length < 1e-10, 1.0, length)


@dataclass(frozen=True)
class Whiten:
    """mean: (D,); matrix: (D, D), symmetric."""

    mean: Tensor
    matrix: Tensor

    def __call__(self, images: Tensor) -> Tensor:
        """(N, C, H, W) → float32 of that shape."""
        parts = [(normalise_contrast(part) - self.mean) @ self.matrix for part in images.split(CHUNK)]
        return torch.cat(parts).view(images.shape)


def fit(images: Tensor, ridge: float = 0.1) -> Whiten:
    """ZCA of the contrast-normalised training images, (cov + ridge)^(−½), chunks of them summed in float64."""
    size = images[0].numel()
    total, outer = torch.zeros(size, dtype=torch.float64), torch.zeros(size, size, dtype=torch.float64)
    for part in images.split(CHUNK):
        flat = normalise_contrast(part)
        total += flat.sum(0)
        outer += flat.T @ flat
    mean = total / len(images)
    covariance = (outer - len(images) * torch.outer(mean, mean)) / max(len(images) - 1, 1)
    values, vectors = torch.linalg.eigh(covariance + ridge * torch.eye(size, dtype=torch.float64))
    return Whiten(mean.float(), ((vectors * values.rsqrt()) @ vectors.T).float())


def fit_once(images: Tensor) -> Whiten:
    """As `fit`, which takes minutes for CIFAR, kept in the cache for the same images."""
    images = images[:]  # streamed images have to be in memory for this
    digest = hashlib.blake2b(images.contiguous().numpy().data, digest_size=16).hexdigest()
    place = cache_folder() / f"whiten-{digest}.npz"
    try:
        with np.load(place, allow_pickle=False) as stored:
            return Whiten(torch.from_numpy(stored["mean"]), torch.from_numpy(stored["matrix"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        whiten = fit(images)
    with suppress(OSError):  # without a cache the work is done again next time
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = place.with_name(f"{place.name}.{os.getpid()}")
        with temporary.open("wb") as target:
            np.savez(target, mean=whiten.mean.numpy(), matrix=whiten.matrix.numpy())
        temporary.replace(place)
    return whiten


def whitened(data: DataSet, whiten: Whiten) -> DataSet:
    """The data set with every image whitened once, as float32; nothing is left to normalise."""
    channels = data.shape[0]
    return replace(
        data,
        train=_apply(data.train, whiten),
        test=_apply(data.test, whiten),
        unlabelled=None if data.unlabelled is None else _apply(data.unlabelled, whiten),
        selection=None if data.selection is None else _apply(data.selection, whiten),
        whiten=whiten,
        mean=(0.0,) * channels,
        std=(1.0,) * channels,
    )


def _apply(part: ImageSet, whiten: Whiten) -> ImageSet:
    return replace(part, images=whiten(part.images))
