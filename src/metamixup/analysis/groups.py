"""Runs put together by what they have in common, so that seeds of one method are one line of a figure."""

from collections.abc import Sequence

from metamixup.analysis.records import Records

_TELLING = ("method", "data", "model", "policy.name", "policy.alpha")


def by_label(runs: Sequence[Records]) -> dict[str, list[Records]]:
    """Runs by a name that says the method, and beside it what differs between runs of one method."""
    kinds = {tuple(run.setting(key) for key in _TELLING) for run in runs}
    own: dict[str, list[Records]] = {}
    for run in runs:
        kind = tuple(run.setting(key) for key in _TELLING)
        same = [other for other in kinds if other[0] == kind[0]]
        more = [str(value) for k, value in enumerate(kind[1:], 1) if len({other[k] for other in same}) > 1]
        label = str(kind[0] or run.path.name) + (f" ({', '.join(more)})" if more else "")
        own.setdefault(label, []).append(run)
    return own


def mean_curve(columns: Sequence[Sequence[float | None]]) -> tuple[list[float | None], list[float], list[float]]:
    """Mean, lowest and highest of several runs at each epoch; None where a run recorded nothing."""
    length = min((len(column) for column in columns), default=0)
    rows = [[column[k] for column in columns] for k in range(length)]
    whole = [[v for v in row if v is not None] for row in rows]
    means = [sum(row) / len(row) if len(row) == len(columns) else None for row in whole]
    return means, [min(row, default=0.0) for row in whole], [max(row, default=0.0) for row in whole]
