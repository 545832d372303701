"""A curve in one line of text."""

from itertools import pairwise

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 48


def sparkline(values: list[float], width: int = WIDTH, between: tuple[float, float] | None = None) -> str:
    """Means of at most `width` groups of values, as bars between their lowest and highest, or these two."""
    groups = min(width, len(values))
    cuts = [len(values) * k // groups for k in range(groups + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = between or (min(means), max(means))
    return "".join(BARS[round((min(max(m, low), high) - low) / (high - low or 1) * (len(BARS) - 1))] for m in means)
