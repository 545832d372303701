"""What λ did in an epoch, bounded in size: histograms for all, same-class and other-class pairs, and λ by class pair.

One line of lambda.jsonl an epoch. Above 100 classes neighbouring classes share a group, so that a line stays small;
up to 20 classes every class pair has a histogram of its own.
"""

import base64
import math
import zlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from metamixup import world

BINS = 20
MOST_GROUPS = 100
MOST_WITH_HISTOGRAM = 20
FINE = 1000  # quantiles are read from a histogram this fine


class Lambdas:
    """Sums over an epoch; `add` costs a few vector operations a step."""

    def __init__(self, num_classes: int):
        self.num_classes = num_classes
        self.groups = min(num_classes, MOST_GROUPS)
        self.reset()

    def reset(self) -> None:
        self.fine = torch.zeros(2, FINE, dtype=torch.int64)  # other-class pairs, same-class pairs
        self.pair_count = torch.zeros(self.groups**2, dtype=torch.int64)
        self.pair_sum, self.pair_mixing = torch.zeros(2, self.groups**2, dtype=torch.float64)
        detailed = self.groups <= MOST_WITH_HISTOGRAM
        self.pair_bins = torch.zeros(self.groups**2 * BINS if detailed else 0, dtype=torch.int64)

    def add(self, lam: Tensor, labels: Tensor, partner: Tensor) -> None:
        """lam, partner: (B,); labels: (B, C)."""
        lam, first = lam.detach().cpu().double(), labels.argmax(1).cpu()
        second, one = first[partner.cpu()], torch.ones(len(lam), dtype=torch.int64)
        fine = (lam * FINE).long().clamp(0, FINE - 1)
        self.fine.view(-1).index_add_(0, fine + FINE * (first == second), one)
        pair = self._group(first) * self.groups + self._group(second)
        self.pair_count.index_add_(0, pair, one)
        self.pair_sum.index_add_(0, pair, lam)
        self.pair_mixing.index_add_(0, pair, 1 - (2 * lam - 1).abs())
        if len(self.pair_bins):
            self.pair_bins.index_add_(0, pair * BINS + fine // (FINE // BINS), one)

    def collect(self) -> None:
        """The sums of all processes go to the one that leads; the others begin anew."""
        sums = {name: world.total(value) for name, value in self.state_dict().items()}
        if world.leads():
            self.load_state_dict(sums)
        else:
            self.reset()

    def _group(self, label: Tensor) -> Tensor:
        return label * self.groups // self.num_classes

    def summary(self) -> dict[str, Any]:
        """For metrics.jsonl: mean, quantiles and a histogram of all λ."""
        count = int(self.fine.sum())
        if not count:
            return {}
        cumulative = self.fine.sum(0).cumsum(0)
        marks = {q: int(torch.searchsorted(cumulative, q * count)) for q in (0.05, 0.25, 0.5, 0.75, 0.95)}
        return {
            "lambda_mean": round(float(self.pair_sum.sum()) / count, 5),
            "lambda_quantiles": {f"{q:g}": (k + 0.5) / FINE for q, k in marks.items()},
            "lambda_histogram": _coarse(self.fine.sum(0)),
        }

    def line(self) -> dict[str, Any]:
        """For lambda.jsonl; `read_pairs` gives the tables back."""
        seen = self.pair_count.clamp(min=1)
        line = {
            "groups": self.groups,
            "other": _coarse(self.fine[0]),
            "same": _coarse(self.fine[1]),
            "count": _packed(self.pair_count.to(torch.int32)),
            "mean": _packed_share(self.pair_sum / seen),
            "mixing": _packed_share(self.pair_mixing / seen),
        }
        return line | ({"histogram": _packed(self.pair_bins.to(torch.int32))} if len(self.pair_bins) else {})

    def state_dict(self) -> dict[str, Tensor]:
        return {k: getattr(self, k).clone() for k in ("fine", "pair_count", "pair_sum", "pair_mixing", "pair_bins")}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            setattr(self, name, value.clone())


def read_pairs(line: dict[str, Any]) -> dict[str, np.ndarray]:
    """The tables of a line of lambda.jsonl: count (G, G), first class by second, the means of λ and of the mixing
    1 − |2λ − 1|, both NaN for pairs not seen, and histogram (G, G, 20) where there is one. ValueError if damaged."""
    g = line.get("groups")
    if not isinstance(g, int) or not 0 < g <= MOST_GROUPS:
        raise ValueError(f"{g!r} groups of classes, outside 1…{MOST_GROUPS}")
    count = _unpacked(line.get("count"), "<i4", (g, g))
    tables: dict[str, np.ndarray] = {"count": count}
    for name in ("mean", "mixing"):
        if name in line or name == "mean":  # earlier versions wrote no mixing
            tables[name] = np.where(count > 0, _unpacked(line.get(name), "<u2", (g, g)) / 65535, np.nan)
    if "histogram" in line:
        tables["histogram"] = _unpacked(line["histogram"], "<i4", (g, g, BINS))
    return tables


def readable_pairs(line: dict[str, Any]) -> dict[str, np.ndarray] | None:
    """`read_pairs`, or None for a line that is damaged or tells nothing of class pairs."""
    try:
        return read_pairs(line)
    except (KeyError, ValueError, TypeError, zlib.error):
        return None


def _coarse(fine: Tensor) -> list[int]:
    return fine.view(BINS, -1).sum(1).tolist()


def _packed_share(table: Tensor) -> str:
    """A mean in 0…1, to 1/65535."""
    return _packed((table.clamp(0, 1) * 65535).round().to(torch.uint16))


def _packed(table: Tensor) -> str:
    return base64.b64encode(zlib.compress(table.numpy().tobytes(), 6)).decode()


def _unpacked(text: Any, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Never more than the table's own size is unpacked, whatever the text promises."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text), size)
    except (TypeError, zlib.error) as error:
        raise ValueError(f"a damaged table ({error})") from error
    if len(content) != size:
        raise ValueError(f"a table of {len(content)} bytes in place of {size}")
    return np.frombuffer(content, dtype=dtype).reshape(shape)
