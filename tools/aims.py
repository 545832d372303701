"""What the estimators and the default policy are to cost and to be worth, beside what a run of the benchmark found."""

from collections.abc import Iterator
from typing import Any, NamedTuple

HEAD_AT_MOST = {"cnn3": 1.8, "wrn-28-2": 1.9}
MANY_CLASSES = "cnn3 batch 128 classes 1000"


class Aim(NamedTuple):
    aim: str
    found: str
    met: bool


def aims(result: dict[str, Any]) -> list[Aim]:
    """Those that this result can tell of."""
    told = [aim for model, found in result["models"].items() for aim in _of_model(model, found)]
    told += [aim for stage, table in result.get("quality", {}).items() for aim in _of_quality(stage, table)]
    return told + list(_of_memory(result.get("memory", {}))) + list(_of_classes(result))


def _of_model(model: str, found: dict[str, Any]) -> Iterator[Aim]:
    ratio = {row: value["ratio"] for row, value in found["rows"].items()}
    for peer in ("higher", "torchopt"):
        if peer in ratio:
            told = f"{ratio['exact']:.2f} against {ratio[peer]:.2f}"
            yield Aim(f"{model}: `exact` is faster than {peer}", told, ratio["exact"] < ratio[peer])
    for row, most in (("head", HEAD_AT_MOST.get(model)), ("default", 1.25)):
        if row in ratio and most is not None:
            yield Aim(f"{model}: `{row}` costs at most {most} MixUp steps", f"{ratio[row]:.2f}", ratio[row] <= most)
    if model == "wrn-28-2" and "matmul_share" in found:
        share = found["matmul_share"]
        yield Aim(f"{model}: the plain step reaches 60 % of the matrix-product rate", f"{share:.0%}", share >= 0.6)
    if model == "cnn3" and "plain, compiled" in ratio:
        times = ratio["plain"] / ratio["plain, compiled"]
        yield Aim(f"{model}: `--compile` makes a step 1.3 times as fast", f"{times:.2f} times", times >= 1.3)


def _of_quality(stage: str, table: dict[str, Any]) -> Iterator[Aim]:
    if {"head", "exact", "less mixing"} <= table.keys():
        head, exact = table["head"]["meta"], table["exact"]["meta"]
        aim = f"{stage}: `head` has 80 % of `exact`'s decrease on the meta batch"
        told = f"{head / exact:.0%}" if exact > 0 else f"{head:.4f} against {exact:.4f}"
        yield Aim(aim, told, head >= 0.8 * exact > 0)
        head, less = table["head"]["held_out"], table["less mixing"]["held_out"]
        aim = f"{stage}: `head` lowers the loss on held-out images more than mixing less does"
        yield Aim(aim, f"{head:.4f} against {less:.4f}", head > less)


def _of_memory(memory: dict[str, Any]) -> Iterator[Aim]:
    for model, table in memory.items():
        if "head" in table:
            aim = f"{model}: `head` needs at most 1.3 times plain training's memory"
            yield Aim(aim, f"{table['head']:.2f}", table["head"] <= 1.3)
        elif "with trust" in table:
            added = table["with trust"] - 1
            yield Aim(f"{model}: the policy adds under 5 % to memory", f"{added:+.0%}", added < 0.05)


def _of_classes(result: dict[str, Any]) -> Iterator[Aim]:
    table = result.get("growth", {}).get("classes", {}).get(MANY_CLASSES, {})
    if "trust alone" in table:
        added = table["trust alone"]
        yield Aim("1,000 classes: the policy adds under 3 % to a step", f"{added:+.1%}", added < 0.03)
