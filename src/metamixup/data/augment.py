"""Augmentation of whole batches, each sample with its own draw, on the device where the batch is."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Draw:
    """What was drawn for a batch: flip (B,) bool, dy and dx (B,) offsets in pixels, noise like the batch; or None."""

    flip: Tensor | None
    offsets: tuple[Tensor, Tensor] | None
    noise: Tensor | None

    def part(self, low: int, high: int) -> "Draw":
        """The draw of samples low…high−1: a process of several draws for the global batch and keeps its own."""
        cut = [None if value is None else value[low:high] for value in (self.flip, *(self.offsets or ()), self.noise)]
        flip, *offsets, noise = cut
        return Draw(flip, (offsets[0], offsets[1]) if self.offsets else None, noise)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Augment:
    """Mirror with probability ½ (or, with `alternate`, each image in every other epoch: so that no epoch shows a side
    that the last one has shown), shift by up to ±`shift` pixels with reflection at the border (or, as `crop`, with
    zeros: the same as pad-and-crop), and add Gaussian noise (for uint8 in units of the full range, 255)."""

    flip: bool = False
    shift: int = 0
    crop: int = 0
    noise: float = 0.0
    alternate: bool = False

    def __post_init__(self) -> None:
        if self.shift < 0 or self.crop < 0 or self.noise < 0:
            raise ValueError("shift, crop and noise are at least 0")
        if self.shift and self.crop:
            raise ValueError("shift (reflected border) and crop (zeros) exclude each other")

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """x: (B, C, H, W) uint8 or floating; the result has its shape, type and device."""
        draw = self.draw(x.shape, generator)
        return self.disturb(self.move(x, draw), draw)

    def draw(self, shape: torch.Size | tuple[int, ...], generator: torch.Generator) -> Draw:
        """Draw for a batch of that (B, C, H, W) shape, on the generator's device."""
        reach, size = self.shift or self.crop, (shape[0],)
        flip = torch.rand(size, generator=generator) < 0.5 if self.flip else None
        offsets = torch.randint(-reach, reach + 1, (2, *size), generator=generator).unbind() if reach else None
        noise = torch.randn(shape, generator=generator) if self.noise else None
        return Draw(flip, offsets, noise)  # type: ignore[arg-type]

    def move(self, x: Tensor, draw: Draw) -> Tensor:
        """Flip and shift as one gather: several times as fast as padding and cropping sample by sample."""
        if draw.offsets is None:
            return x if draw.flip is None else torch.where(draw.flip.to(x.device).view(-1, 1, 1, 1), x.flip(3), x)
        samples, channels, height, width = x.shape
        rows = torch.arange(height) + draw.offsets[0][:, None]
        columns = torch.arange(width) + draw.offsets[1][:, None]
        if draw.flip is not None:
            columns = torch.where(draw.flip[:, None], columns.flip(1), columns)
        source = _inside(rows, height)[:, :, None] * width + _inside(columns, width)[:, None, :]
        source = source.view(samples, 1, -1).expand(-1, channels, -1).to(x.device)
        moved = x.flatten(2).gather(2, source).view(x.shape)
        return moved if not self.crop else moved.masked_fill_(_outside(rows, columns, height, width).to(x.device), 0)

    def disturb(self, x: Tensor, draw: Draw) -> Tensor:
        if draw.noise is None:
            return x
        noise = draw.noise.to(x.device)
        if x.dtype == torch.uint8:
            return torch.add(x, noise, alpha=self.noise * 255).round_().clamp_(0, 255).to(torch.uint8)
        return torch.add(x, noise.to(x.dtype), alpha=self.noise)


def _inside(position: Tensor, size: int) -> Tensor:
    """Reflect positions beyond the border back, the border pixel itself not repeated; a wave of period 2(size−1)."""
    if size == 1:
        return torch.zeros_like(position)
    return (size - 1) - ((position % (2 * (size - 1))) - (size - 1)).abs()


def _outside(rows: Tensor, columns: Tensor, height: int, width: int) -> Tensor:
    """(B, 1, H, W): which pixels come from beyond the border."""
    row_out, column_out = (rows < 0) | (rows >= height), (columns < 0) | (columns >= width)
    return (row_out[:, :, None] | column_out[:, None, :]).unsqueeze(1)
