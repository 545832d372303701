"""The page of an audit: every suspicious image with buttons to confirm or correct its label, in one file."""

import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn.functional import interpolate

from metamixup.audit.findings import RIGHT, UNSURE, WORDS, Audit, Finding, in_words
from metamixup.report.page import render
from metamixup.storage import write_output

PER_SHEET, COLUMNS = 1000, 40
LARGEST, SMALL, MANY = 64, 32, 5000  # pixels of a thumbnail; above so many images they are small
QUALITY = 72
TOLD = [*WORDS.values(), RIGHT, UNSURE]
LOOKED_AT = 1000  # images whose pixels tell one data set from another


def write_audit_page(audit: Audit, images: Tensor, out: Path) -> None:
    """images: (N, C, H, W), those that were audited, in their order."""
    write_output(out, render("audit", audit_context(audit, images)))


def audit_context(audit: Audit, images: Tensor) -> dict[str, Any]:
    shown = [finding for finding in audit.findings if finding.position >= 0]
    lost = [finding for finding in audit.findings if finding.position < 0]
    tile = min(max(images.shape[-2:]), LARGEST if len(shown) <= MANY else SMALL)
    index = torch.tensor([finding.position for finding in shown], dtype=torch.int64)
    return {
        "kind": "audit of labels",
        "title": Path(audit.name).name or audit.name,
        "subtitle": audit.sentence(),
        "missing": [f"{finding.file}: {finding.note}" for finding in lost],
        "classes": audit.classes,
        "sheets": [sheet(images[part], tile) for part in index.split(PER_SHEET)],
        "data": {
            **_columns(audit, shown),
            "key": key(audit, images),
            "classes": list(audit.classes),
            "words": TOLD,
            **{"tile": tile, "columns": COLUMNS, "perSheet": PER_SHEET},
        },
    }


def key(audit: Audit, images: Tensor) -> str:
    """Under which the browser keeps what was decided: the same for every audit of these images, and for no other. A
    browser keeps the pages of all folders together."""
    files = sorted((finding.position, finding.file) for finding in audit.findings if finding.position >= 0)
    some = images[:: -(-len(images) // LOOKED_AT)].contiguous()
    digest = hashlib.blake2b(json.dumps([audit.classes, files]).encode(), digest_size=16)
    digest.update(some.numpy().tobytes())
    return digest.hexdigest()


def _columns(audit: Audit, shown: list[Finding]) -> dict[str, Any]:
    """Column by column: names of columns repeated for 50,000 findings would be most of the page."""
    place = {name: k for k, name in enumerate(audit.classes)}
    return {
        "files": [finding.file for finding in shown],
        "given": [place.get(finding.given, -1) for finding in shown],
        "likely": [place.get(finding.likely, -1) for finding in shown],
        "wrong": [round(finding.wrong, 3) for finding in shown],
        "why": [TOLD.index(in_words(finding, audit.doubt)) for finding in shown],
        "notes": {k: finding.note for k, finding in enumerate(shown) if finding.note},
    }


def sheet(images: Tensor, tile: int) -> str:
    """Up to 1,000 thumbnails in one picture, a JPEG as base64; the browser decodes it when one of them is seen."""
    small = interpolate(_pixels(images), (tile, tile), mode="area")
    rows = -(-len(small) // COLUMNS)
    canvas = np.zeros((rows * tile, COLUMNS * tile, 3), np.uint8)
    for k, picture in enumerate(small.round().byte().numpy()):
        top, left = k // COLUMNS * tile, k % COLUMNS * tile
        canvas[top : top + tile, left : left + tile] = picture.transpose(1, 2, 0)
    out = io.BytesIO()
    Image.fromarray(canvas).save(out, "JPEG", quality=QUALITY)
    return base64.b64encode(out.getvalue()).decode()


def _pixels(images: Tensor) -> Tensor:
    """(N, 3, H, W) in 0…255; floats are stretched to that."""
    x = images.float()
    if images.dtype != torch.uint8:
        low, high = x.amin((1, 2, 3), keepdim=True), x.amax((1, 2, 3), keepdim=True)
        x = (x - low) / (high - low).clamp_min(1e-6) * 255
    return x if x.shape[1] == 3 else x[:, :1].expand(-1, 3, -1, -1)
