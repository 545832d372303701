"""How often each λ was used, learned against the Beta of plain MixUp (Section IV-D)."""

from typing import Any

import numpy as np
from scipy.stats import beta

from metamixup.analysis.groups import by_label
from metamixup.analysis.records import Records
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import REFERENCE, colours, label, panels, styled
from metamixup.errors import UserError


def lambda_frequency_study(runs: list[Records], alpha: float = 1.0) -> Study:
    """Over all epochs of each method's runs; `alpha` is the Beta(α, α) drawn beside them."""
    shares = {name: found for name, own in by_label(runs).items() if (found := _shares(own)) is not None}
    if not shares:
        raise UserError("none of these runs has recorded a histogram of λ (metrics.jsonl)")
    bins = len(next(iter(shares.values())))
    reference = np.diff(beta.cdf(np.linspace(0, 1, bins + 1), alpha, alpha))
    numbers = {
        "bins": bins,
        f"Beta({alpha:g}, {alpha:g})": _numbers(reference),
        "methods": {name: _numbers(found) for name, found in shares.items()},
    }
    beside = (f"Beta({alpha:g}, {alpha:g})", reference)
    return Study("lambda-frequency", numbers, _figure(shares, beside), _interactive(shares, beside))


def _shares(own: list[Records]) -> np.ndarray | None:
    counts = [line["lambda_histogram"] for run in own for line in run.metrics if line.get("lambda_histogram")]
    if not counts or len({len(count) for count in counts}) != 1:
        return None
    total = np.sum(counts, axis=0)
    return total / total.sum()


def _numbers(shares: np.ndarray) -> dict[str, Any]:
    """`ends` is the share of λ within 0.05 of 0 or 1, `middle` within 0.1 of ½."""
    bins, places = len(shares), (np.arange(len(shares)) + 0.5) / len(shares)
    ends = shares[np.minimum(places, 1 - places) < 0.05 + 1e-9].sum()
    middle = shares[np.abs(places - 0.5) < 0.1 + 1e-9].sum()
    mixing = float(shares @ (1 - np.abs(2 * places - 1)))
    return {
        "shares": shares.round(6).tolist(),
        "ends": float(ends),
        "middle": float(middle),
        "mixing": mixing,
        "bins": bins,
    }


def _figure(shares: dict[str, np.ndarray], beside: tuple[str, np.ndarray]) -> Any:
    with styled():
        figure, axes = panels(height=2.1)
        for (name, found), colour in zip(shares.items(), colours(), strict=False):
            axes.stairs(
                100 * found, np.linspace(0, 1, len(found) + 1), color=colour, label=name, fill=False, linewidth=1.5
            )
            axes.stairs(100 * found, np.linspace(0, 1, len(found) + 1), color=colour, fill=True, alpha=0.18)
        edges = np.linspace(0, 1, len(beside[1]) + 1)
        axes.stairs(100 * beside[1], edges, color=REFERENCE, linestyle="--", label=beside[0])
        label(axes, "Relative frequency of λ", "λ", "share of pairs (%)")
        axes.set_xlim(0, 1)
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure


def _interactive(shares: dict[str, np.ndarray], beside: tuple[str, np.ndarray]) -> Any:
    figure = interactive("Relative frequency of λ", "λ", "share of pairs (%)", barmode="overlay")
    for (name, found), colour in zip(shares.items(), colours(), strict=False):
        places = (np.arange(len(found)) + 0.5) / len(found)
        figure.add_bar(x=places, y=100 * found, name=name, marker_color=colour, opacity=0.6)
    places = (np.arange(len(beside[1])) + 0.5) / len(beside[1])
    figure.add_scatter(x=places, y=100 * beside[1], name=beside[0], line={"color": REFERENCE, "dash": "dash"})
    return figure
