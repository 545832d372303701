"""A small folder of pictures with known mistakes."""

from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"blue": (40, 60, 220), "green": (50, 200, 60), "red": (220, 50, 40)}
MISTAKES = {"blue/blue-0.png": "red", "green/green-0.png": "blue", "red/red-0.png": "green", "red/red-1.png": "blue"}


def write_photos(root: Path, each: int = 30) -> Path:
    """Noisy colours by class, of which four lie in a wrong folder (MISTAKES names the right one), and a broken file."""
    random = np.random.default_rng(0)
    for name in COLOURS:
        (root / name).mkdir(parents=True)
        for k in range(each):
            file = f"{name}/{name}-{k}.png"
            pixels = random.normal(COLOURS[MISTAKES.get(file, name)], 40, (16, 16, 3)).clip(0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(root / file)
    (root / "red" / "broken.png").write_bytes(b"no image")
    return root
