"""A folder's images decoded once into one file of bytes, memory-mapped from then on.

CACHE/KEY-FINGERPRINT/ holds images.bin (N·C·H·W bytes) and about.json (shape, checksums). It is built under
another name and renamed when complete, so a crash leaves nothing that looks finished; a lock keeps two builders
from doing the work twice. A folder that changed has another fingerprint, and its old cache is removed.
"""

import hashlib
import json
import os
import shlex
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from metamixup.data.folder.workers import Decoded, Progress, decode_all
from metamixup.errors import DataError
from metamixup.storage import as_json, locked, read_record, write_atomically

VERSION = 1
CHUNK = 2**24
# A cache up to this size is verified whole when it is opened, a larger one at evenly spaced chunks.
VERIFIED_CHUNKS = 64
SPARE = 2**29


def cache_folder() -> Path:
    """$METAMIXUP_CACHE, or the user's cache folder."""
    named = os.environ.get("METAMIXUP_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metamixup"


def packed(
    root: Path, files: list[Path], fingerprint: str, shape: tuple[int, int, int], progress: Progress | None
) -> Tensor | None:
    """(N, C, H, W) uint8, memory-mapped; built if need be. None where the disk has no room for it."""
    key = hashlib.blake2b(f"{VERSION}/{root.resolve()}/{shape}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    cache = cache_folder() / f"{key}-{fingerprint}"
    size = len(files) * shape[0] * shape[1] * shape[2]

    def waiting(holder: str) -> None:
        if progress is not None:
            progress(0, len(files), holder)

    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        with locked(cache.parent / f"{key}.lock", waiting):
            if not _sound(cache, size):
                for old in cache.parent.glob(f"{key}-*"):
                    shutil.rmtree(old)
                if shutil.disk_usage(cache.parent).free < size + SPARE:
                    return None
                _build(root, cache, files, shape, size, progress)
            # Under the lock: a process that finds the folder changed removes this cache, but what is mapped stays.
            mapped = torch.from_file(str(cache / "images.bin"), shared=False, size=size, dtype=torch.uint8)
    except OSError:  # a full, read-only or otherwise unusable disk: work goes on without a cache
        return None
    return mapped.view(-1, *shape)


def _build(
    root: Path, cache: Path, files: list[Path], shape: tuple[int, int, int], size: int, progress: Progress | None
) -> None:
    temporary = cache.with_name(f"{cache.name}.tmp")
    temporary.mkdir()
    try:
        with (temporary / "images.bin").open("wb+") as target:
            _reserve(target.fileno(), size)
            _stop_at_damage(root, decode_all(files, shape, target.fileno(), progress))
            os.fsync(target.fileno())
        about = {"version": VERSION, "shape": [len(files), *shape], "crc32": list(_checksums(temporary / "images.bin"))}
        write_atomically(temporary / "about.json", as_json(about))
        temporary.rename(cache)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _reserve(target: int, size: int) -> None:
    """A disk without room says so now, not after an hour of decoding."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(target, 0, size)
    else:
        os.truncate(target, size)


def _stop_at_damage(root: Path, images: list[Decoded]) -> None:
    """The user decides what becomes of damaged images."""
    failed = [image.problem for image in images if image.problem]
    if failed:
        more = f"; and {len(failed) - 5} more" if len(failed) > 5 else ""
        told = f"{len(failed)} of {len(images)} images cannot be used: {'; '.join(failed[:5])}{more}"
        if all(image.too_large for image in images if image.problem):
            raise DataError(told)
        raise DataError(
            f"{told}. To go on without those that are damaged, move them out of the folder: "
            f"metamixup data check {shlex.quote(str(root))} --set-aside damaged"
        )


def _sound(cache: Path, size: int) -> bool:
    """Is the cache there, whole and undamaged?"""
    try:
        about = json.loads(read_record(cache / "about.json"))
        images = cache / "images.bin"
        return images.stat().st_size == size and _verified(images, about["crc32"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _verified(images: Path, expected: list[int]) -> bool:
    step = max(1, len(expected) // VERIFIED_CHUNKS)
    return list(_checksums(images, step)) == expected[::step]


def _checksums(images: Path, step: int = 1) -> Iterator[int]:
    with images.open("rb") as stream:
        while part := stream.read(CHUNK):
            yield zlib.crc32(part)
            stream.seek((step - 1) * CHUNK, os.SEEK_CUR)
