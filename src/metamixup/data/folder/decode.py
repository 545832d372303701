"""One encoded image (JPEG, PNG, WebP) → a square of bytes, in bounded memory whatever the file claims to be."""

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from metamixup.errors import DataError

FORMATS = ("JPEG", "PNG", "WEBP")
SUFFIXES = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".jfi", ".pjpeg", ".pjp", ".png", ".webp"})
TRANSPARENT = "transparency"  # pillow's name for the one value of a PNG that is see-through
WIDE = ("I;16", "I;16B", "I;16L", "I")
VARIABLE = "METAMIXUP_IMAGE_MB"
ORDINARY = 256 * 2**20  # what any image may take: a progressive JPEG of 42 megapixels does
LARGEST = 640 * 2**20  # what one of a plausible weight may: 100 megapixels
PLAUSIBLE = 1000  # bytes of memory for each byte of the file; photos need 20 to 300 of them, bombs far more
GREY = ("1", "L", "LA", *WIDE)


class TooLarge(DataError):
    """A sound image, for all one can see, that would take more memory than is allowed."""


def decode(source: Path | bytes, size: int, channels: int, name: str | None = None) -> np.ndarray:
    """Shorter side scaled to `size`, centre cropped: (C, size, size) uint8 with C of 1 (grey) or 3.

    Transparent images are laid on white, 16-bit ones scaled to bytes, EXIF orientation is followed.
    """
    name = name or str(source)
    try:
        return _square(source, size, channels, name)
    except DataError:
        raise
    except FileNotFoundError as problem:
        raise DataError(f"{name}: is not there (a link that leads nowhere, or moved meanwhile?)") from problem
    except Exception as problem:  # pillow's decoders have many errors for damaged bytes
        if type(problem).__name__ == "DecompressionBombError":  # pillow's own bound, of 179 megapixels
            raise TooLarge(f"{name}: too large to open ({problem}); make the image smaller") from problem
        raise DataError(f"{name}: cannot be read as an image ({_short(problem)})") from problem


def probe(source: Path | bytes) -> tuple[int, int, bool] | None:
    """(width, height, grey) from the header alone, or None where there is no readable one."""
    from PIL import Image

    try:
        with Image.open(_stream(source), formats=FORMATS) as image:
            return *image.size, image.mode in GREY
    except Exception:  # a damaged file is named when it is decoded
        return None


@contextmanager
def without_pillow_warnings() -> Iterator[None]:
    """Pillow warns of oddities in metadata, which do not matter here. To be entered outside of any threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _square(source: Path | bytes, size: int, channels: int, name: str) -> np.ndarray:
    from PIL import Image, ImageOps

    length = len(source) if isinstance(source, bytes) else source.stat().st_size
    if not length:
        raise DataError(f"{name}: the file is empty")
    with Image.open(_stream(source), formats=FORMATS) as image:
        full = image.size
        # JPEG unpacks at a fraction of its size where that is enough: less time, less memory.
        image.draft(None, (2 * size, 2 * size))
        _check_memory(image, full, length, name)
        square = ImageOps.fit(_plain(image), (size, size), Image.Resampling.BILINEAR)
        # The square is turned, not the photo: the same pixels, without a second copy of the photo.
        square = _upright(image, square)
    mode = "L" if channels == 1 else "RGB"
    array = np.array(_on_white(square).convert(mode))
    return array[None] if channels == 1 else np.ascontiguousarray(array.transpose(2, 0, 1))


def _check_memory(image: Any, full: tuple[int, int], length: int, name: str) -> None:
    """Estimated from the header, before a pixel is unpacked: bytes a pixel, as measured with pillow 13."""
    pixels = image.size[0] * image.size[1]
    needed = pixels * (4 if image.mode in ("L", "RGB") and TRANSPARENT not in image.info else 12)
    if image.format == "WEBP":
        needed = pixels * 18
    elif image.info.get("progressive"):
        needed += full[0] * full[1] * 2 * len(image.getbands())  # the coefficients of the whole image at once
    if needed > 2 * length + _spare(length):
        raise TooLarge(
            f"{name}: {full[0]}×{full[1]} pixels in a file of {length:,} bytes would take {needed / 2**20:,.0f} MB "
            f"to open; make the image smaller, or allow more with ${VARIABLE}={needed // 2**20 + 1}"
        )


def _spare(length: int) -> int:
    """What an image may take beyond twice its file's size: a few bytes that promise a huge image are a bomb."""
    given = os.environ.get(VARIABLE, "")
    return int(given) * 2**20 if given.isdecimal() else min(LARGEST, max(ORDINARY, PLAUSIBLE * length))


def _plain(image: Any) -> Any:
    """A mode that can be resized: 16-bit and palette images cannot."""

    if image.mode in WIDE:
        return _bytes_of(image)
    if image.mode in ("L", "RGB", "RGBA") and TRANSPARENT not in image.info:
        return image
    transparent = image.mode in ("LA", "PA") or TRANSPARENT in image.info
    return image.convert("RGBA" if transparent else "RGB")


def _bytes_of(image: Any) -> Any:
    """A 16-bit grey image, whose transparent value may be one that bytes cannot tell from its neighbours."""
    from PIL import Image

    values = np.asarray(image)
    grey = Image.fromarray((values >> 8).clip(0, 255).astype(np.uint8))
    if TRANSPARENT not in image.info:
        return grey
    opaque = Image.fromarray(np.where(values == image.info[TRANSPARENT], 0, 255).astype(np.uint8))
    return Image.merge("LA", (grey, opaque)).convert("RGBA")


def _upright(image: Any, square: Any) -> Any:
    from PIL import Image

    turns = Image.Transpose
    how = {
        2: turns.FLIP_LEFT_RIGHT,
        3: turns.ROTATE_180,
        4: turns.FLIP_TOP_BOTTOM,
        5: turns.TRANSPOSE,
        6: turns.ROTATE_270,
        7: turns.TRANSVERSE,
        8: turns.ROTATE_90,
    }
    try:
        orientation = image.getexif().get(0x0112)
    except Exception:  # damaged metadata is no reason to lose a sound image
        return square
    return square.transpose(how[orientation]) if orientation in how else square


def _on_white(image: Any) -> Any:
    from PIL import Image

    if image.mode != "RGBA":
        return image
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)


def _stream(source: Path | bytes) -> Any:
    return io.BytesIO(source) if isinstance(source, bytes) else source


def _short(problem: Exception) -> str:
    # Pillow's own message for an unknown format repeats the path.
    return "not a JPEG, PNG or WebP file" if type(problem).__name__ == "UnidentifiedImageError" else str(problem)[:200]
