"""One cell of a table with what its runs came to, and the way to table.json and back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

FEWEST_SEEDS = 3  # below, no mean is called best and no difference sure
TEXTS = ("label", "budget", "learning", "score", "against")
NUMBERS = ["mean", "std", "top5", "nll", "ece", "published", "published_std", "published_top5", "seconds", "cost_ratio"]


@dataclass(frozen=True)
class Difference:
    """Mean of the differences by seed, and the ends of its 95 % t-interval, where there is one."""

    mean: float
    low: float | None = None
    high: float | None = None
    seeds: int = 0

    @property
    def sure(self) -> bool:
        """The interval excludes zero, and rests on enough seeds."""
        return self.below or self.above

    @property
    def below(self) -> bool:
        return self.seeds >= FEWEST_SEEDS and self.high is not None and self.high < 0

    @property
    def above(self) -> bool:
        return self.seeds >= FEWEST_SEEDS and self.low is not None and self.low > 0


@dataclass(frozen=True)
class Entry:
    """A method on a task (data/model). `control` is empty for a contender, else the name of what was taken from its
    policy; `learning` says where λ came from; `score` is the number of a run that counts; `against` is the method that
    the difference is taken to; a `bound` is no contender. What has not been measured is None or empty."""

    task: str
    method: str
    control: str = ""
    label: str = ""
    budget: str = ""
    learning: str = ""
    score: str = ""
    processors: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    errors: tuple[float, ...] = ()
    mean: float | None = None
    std: float | None = None
    top5: float | None = None
    nll: float | None = None
    ece: float | None = None
    published: float | None = None
    published_std: float | None = None
    published_top5: float | None = None
    provenance: str | None = None
    seconds: float | None = None
    cost_ratio: float | None = None
    against: str = ""
    bound: bool = False
    difference: Difference | None = None

    @property
    def name(self) -> str:
        return controlled(self.method, self.control)

    def over(self, seeds: Sequence[int]) -> "Entry":
        """The same with errors of these seeds alone."""
        if not self.errors or set(seeds) >= set(self.seeds):
            return self
        kept = [(seed, error) for seed, error in zip(self.seeds, self.errors, strict=False) if seed in seeds]
        errors = tuple(error for _, error in kept)
        return replace(self, seeds=tuple(s for s, _ in kept), errors=errors, mean=mean_of(errors), std=std_of(errors))


def controlled(method: str, control: str) -> str:
    """How users name a method under a control, `metamixup:reverse`; a contender has none."""
    return f"{method}:{control}" if control else method


def split_control(name: str) -> tuple[str, str]:
    """The method and its control, from a stored name."""
    method, _, control = name.partition(":")
    return method, control


def best_of(entries: Sequence[Entry]) -> Entry | None:
    """The contender with the lowest mean error. Controls and bounds are none, nor is what rests on too few seeds."""
    contenders = [e for e in entries if e.mean is not None and not e.control and not e.bound]
    best = min(contenders, key=lambda e: e.mean or 0.0, default=None)
    return best if best is not None and len(best.seeds) >= FEWEST_SEEDS else None


def shared_seeds(entries: Sequence[Entry]) -> list[Entry]:
    """Entries of one task, their means over the seeds that all of them have: others could not be compared. A row of one
    seed beside others is a direction, and leaves them their seeds."""
    run = [set(entry.seeds) for entry in entries if entry.seeds]
    several = [seeds for seeds in run if len(seeds) > 1]
    common = sorted(set.intersection(*(several or run))) if run else []
    return [entry.over(common) for entry in entries] if common else list(entries)


def paired(differences: Sequence[float]) -> Difference | None:
    """An interval takes two seeds that differ: without any spread there is nothing to tell how sure the mean is."""
    mean, std, count = mean_of(differences), std_of(differences), len(differences)
    if mean is None or not std:
        return None if mean is None else Difference(mean, seeds=count)
    from scipy.stats import t

    half = float(t.ppf(0.975, count - 1)) * std / math.sqrt(count)
    return Difference(mean, round(mean - half, 6), round(mean + half, 6), count)


def mean_of(values: Sequence[float]) -> float | None:
    return round(fmean(values), 6) if values else None


def std_of(values: Sequence[float]) -> float | None:
    """The deviation of a sample; one value has none."""
    return round(stdev(values), 6) if len(values) > 1 else None


def to_json(entry: Entry) -> dict[str, Any]:
    found, difference = vars(entry), entry.difference
    told = {"diff": difference.mean, "low": difference.low, "high": difference.high} if difference else None
    kept = {key: value for key, value in found.items() if key not in ("task", "errors", "difference")}
    lists = {key: list(value) for key, value in kept.items() if isinstance(value, tuple)}
    lists["error"] = list(entry.errors)
    return {"cell": f"{entry.task}/{entry.name}", **kept, "method": entry.name, **lists, "paired_vs_mixup": told}


def from_json(found: Any) -> Entry | None:
    """An entry of table.json, however old; None for what is no cell. Values of another type count as not measured."""
    if not isinstance(found, dict) or not isinstance(found.get("cell"), str):
        return None
    task, _, last = found["cell"].rpartition("/")
    name = str(found.get("method") or last)
    method, control = split_control(name)
    task = found["cell"].removesuffix(name).rstrip("/") or task
    seeds, errors = _list(found.get("seeds"), int), tuple(e for e in _list(found.get("error"), float) if drawable(e))
    measured: dict[str, Any] = {key: drawable(found.get(key)) for key in NUMBERS}
    texts: dict[str, Any] = {key: str(found.get(key) or "") for key in TEXTS}
    return Entry(
        task=task,
        method=method,
        control=control,
        seeds=seeds if len(seeds) == len(errors) or not errors else tuple(range(len(errors))),
        errors=errors,
        processors=_list(found.get("processors"), str),
        versions=_list(found.get("versions"), str),
        bound=found.get("bound") is True,
        difference=_difference(found.get("paired_vs_mixup"), len(seeds)),
        provenance=str(found["provenance"]) if found.get("provenance") else None,
        **measured,
        **texts,
    )


def _difference(found: Any, seeds: int) -> Difference | None:
    told: Mapping[str, Any] = found if isinstance(found, dict) else {}
    mean = drawable(told.get("diff"))
    return None if mean is None else Difference(mean, drawable(told.get("low")), drawable(told.get("high")), seeds)


def _list(found: Any, kind: type) -> tuple[Any, ...]:
    kinds = (int, float) if kind is float else kind
    return tuple(v for v in found if isinstance(v, kinds)) if isinstance(found, list) else ()


def drawable(value: Any) -> float | None:
    """A number that can be drawn."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e100 else None
