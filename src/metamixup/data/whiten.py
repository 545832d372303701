"""How pixels are scaled before a network sees them: by channel, to −1…1, or by global contrast normalisation and ZCA
whitening, as the SSL protocol of Oliver et al. prepares CIFAR-10."""

import hashlib
import io
import zipfile
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from metamixup.data.folder.packed import cache_folder
from metamixup.data.images import DataSet, ImageSet
from metamixup.storage import write_atomically

Pixels = Literal["standard", "symmetric", "zca"]
CHUNK = 2048


def scaled(found: DataSet, pixels: Pixels) -> DataSet:
    """`standard`: mean 0 and deviation 1 of each channel; `symmetric`: 0…1 becomes −1…1; `zca`: contrast normalised and
    whitened by the training images, which needs them in memory and no labels."""
    if pixels == "standard":
        return found
    if pixels == "zca":
        return whitened(found, fit_once(found.train.images))
    halves = (0.5,) * found.shape[0]
    return replace(found, mean=halves, std=halves)


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
    cached = cache_folder() / f"whiten-{digest}.npz"
    try:
        with np.load(cached, allow_pickle=False) as stored:
            return Whiten(torch.from_numpy(stored["mean"]), torch.from_numpy(stored["matrix"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        whiten = fit(images)
    with suppress(OSError):  # without a cache the work is done again next time
        cached.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez(content, mean=whiten.mean.numpy(), matrix=whiten.matrix.numpy())
        write_atomically(cached, content.getvalue())
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
