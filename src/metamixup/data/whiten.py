"""Global contrast normalisation and ZCA whitening, as the SSL protocol of Oliver et al. prepares CIFAR-10."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

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
    """ZCA of the contrast-normalised training images, (cov + ridge)^(−½), summed in float64 chunk by chunk."""
    size = images[0].numel()
    total, outer = torch.zeros(size, dtype=torch.float64), torch.zeros(size, size, dtype=torch.float64)
    for part in images.split(CHUNK):
        flat = normalise_contrast(part).double()
        total += flat.sum(0)
        outer += flat.T @ flat
    mean = total / len(images)
    covariance = (outer - len(images) * torch.outer(mean, mean)) / max(len(images) - 1, 1)
    values, vectors = torch.linalg.eigh(covariance + ridge * torch.eye(size, dtype=torch.float64))
    return Whiten(mean.float(), ((vectors * values.rsqrt()) @ vectors.T).float())


def whitened(data: DataSet, whiten: Whiten) -> DataSet:
    """The data set with every image whitened once, as float32; nothing is left to normalise."""
    channels = data.shape[0]
    return replace(
        data,
        train=_apply(data.train, whiten),
        test=_apply(data.test, whiten),
        unlabelled=None if data.unlabelled is None else _apply(data.unlabelled, whiten),
        mean=(0.0,) * channels,
        std=(1.0,) * channels,
    )


def _apply(part: ImageSet, whiten: Whiten) -> ImageSet:
    return replace(part, images=whiten(part.images))
