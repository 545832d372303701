"""A contact sheet: samples of every class, and what blending makes of them."""

from typing import Any

import torch
from torch import Tensor

from metamixup.data.images import DataSet
from metamixup.data.splits import shuffled_by_class
from metamixup.mixing import mix
from metamixup.seeding import derived_generator

COLUMNS = 9
MOST_CLASSES = 20
TILE = 64
GAP = 4
MARGIN = 120


def contact_sheet(data: DataSet, seed: int = 0) -> Any:
    """A PIL image: a row of samples for each class (at most 20 of them), then blends of two, λ from 1 to 0."""
    from PIL import Image, ImageDraw

    rows = [*class_rows(data, seed), *blend_rows(data, seed)]
    sheet = Image.new("RGB", (MARGIN + COLUMNS * (TILE + GAP), len(rows) * (TILE + GAP) + GAP), "white")
    draw = ImageDraw.Draw(sheet)
    for row, (title, images) in enumerate(rows):
        top = GAP + row * (TILE + GAP)
        draw.text((GAP, top + TILE // 2 - 5), title[:18].encode("latin-1", "replace").decode("latin-1"), fill="black")
        for column, image in enumerate(images):
            sheet.paste(_tile(image), (MARGIN + column * (TILE + GAP), top))
    return sheet


def class_rows(data: DataSet, seed: int) -> list[tuple[str, Tensor]]:
    """(class, (n, C, H, W) in 0…1) with up to nine samples drawn at random."""
    pools = shuffled_by_class(data.train.labels, data.num_classes, derived_generator(seed, "sheet"))
    shown = list(zip(data.classes, pools, strict=True))[:MOST_CLASSES]
    return [(name, _scaled(data, pool[:COLUMNS])) for name, pool in shown]


def blend_rows(data: DataSet, seed: int) -> list[tuple[str, Tensor]]:
    """Pairs of random images, blended with λ from 1 (the first alone) to 0 (the second alone)."""
    chosen = torch.randint(len(data.train), (3, 2), generator=derived_generator(seed, "sheet", "blends"))
    lam = torch.linspace(1, 0, COLUMNS)
    pairs = [_scaled(data, pair).unsqueeze(1).expand(-1, COLUMNS, -1, -1, -1) for pair in chosen]
    return [("blends", mix(first, second, lam)) for first, second in pairs]


def _scaled(data: DataSet, index: Tensor) -> Tensor:
    images = data.train.images[index]
    if images.dtype == torch.uint8:
        return images.float() / 255
    low, high = images.min(), images.max()
    return (images - low) / (high - low).clamp_min(1e-12)


def _tile(image: Tensor) -> Any:
    from PIL import Image

    array = (image * 255).round().to(torch.uint8)
    # One channel is grey, three or more are colours; any other number shows its first.
    array = array[:3].permute(1, 2, 0) if len(array) >= 3 else array[0]
    how = Image.Resampling.NEAREST if array.shape[0] < TILE else Image.Resampling.BILINEAR
    return Image.fromarray(array.numpy()).resize((TILE, TILE), how)
