"""Small sound files in the formats of the paper's data sets."""

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image


def idx_bytes(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write_mnist(folder: Path, per_class: int = 3, packed: bool = True) -> None:
    """Random digits of 28×28 in MNIST's four files."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = np.repeat(np.arange(10), per_class)
    images = np.random.default_rng(0).integers(0, 256, (len(labels), 28, 28))
    for stem in ("train", "t10k"):
        for name, array in ((f"{stem}-images-idx3-ubyte", images), (f"{stem}-labels-idx1-ubyte", labels)):
            content = idx_bytes(array)
            (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content, mtime=0) if packed else content)


def cifar_records(labels: list[list[int]], seed: int = 0) -> bytes:
    """One record for each list of label bytes, with random pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (len(labels), 3072), dtype=np.uint8)
    return np.concatenate([np.array(labels, np.uint8), pixels], axis=1).tobytes()


def cifar10_files(per_class: int = 2) -> dict[str, bytes]:
    labels = [[label] for label in range(10)] * per_class
    names = [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]
    files = {name: cifar_records(labels, seed) for seed, name in enumerate(names)}
    return files | {
        "batches.meta.txt": b"airplane automobile bird cat deer dog frog horse ship truck".replace(b" ", b"\n")
    }


def tar_bytes(files: dict[str, bytes], packed: bool = True) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz" if packed else "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()


def picture(width: int = 40, height: int = 30, mode: str = "RGB", seed: int = 0) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


def encoded(image: Image.Image, form: str = "PNG", **options) -> bytes:
    target = io.BytesIO()
    image.save(target, form, **options)
    return target.getvalue()


def write_photos(
    root: Path, classes: tuple[str, ...] = ("cat", "dog"), count: int = 5, form: str = "PNG", **how
) -> None:
    """root/CLASS/0.png …, each another picture."""
    for label, name in enumerate(classes):
        (root / name).mkdir(parents=True, exist_ok=True)
        for k in range(count):
            content = encoded(picture(seed=1000 * label + k, **how), form)
            (root / name / f"{k}.{form.lower()}").write_bytes(content)
