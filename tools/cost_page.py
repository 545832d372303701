"""The page about cost in the documentation, made from the JSON of `metamixup bench --json`.

python -m tools.cost_page results/bench.json docs/cost.md
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metamixup.tables.text_table import TextTable, as_markdown, bold
from tools.aims import aims


def markdown(result: dict[str, Any], plot: str | None = None) -> str:
    """What was aimed at, and tables of everything that was measured."""
    machine = result["machine"]
    lines = [
        "# What learning λ costs",
        "Made from `results/bench.json` by `make bench`. Ratios are medians of interleaved repetitions "
        "against a MixUp step of the same run. All rows but `exact`, `finite_difference` and the peers see a meta "
        f"batch of half the size. torch {machine['torch']}, a machine of {machine['cores']} cores.",
        "",
        "## What was aimed at",
        _table("aim", ["found", "met"], {a.aim: [a.found, "yes" if a.met else bold("no")] for a in aims(result)}),
    ]
    if plot is not None:
        lines += [f"![Cost against worth]({plot})", ""]
    for name, found in result["models"].items():
        lines += [f"## {name}, batch {found['batch']}", *_about(found)]
        rows = {row: [f"{v['ratio']:.2f}", f"{v['low']:.2f}–{v['high']:.2f}"] for row, v in found["rows"].items()}
        lines.append(_table("step", ["× MixUp", "middle half"], rows))
    for stage, table in result.get("quality", {}).items():
        rows = {row: [f"{v['cosine']:.2f}", f"{v['meta']:.4f}", f"{v['held_out']:.4f}"] for row, v in table.items()}
        lines += [f"## Worth, {stage} in training", _table("direction", ["cosine", "meta batch", "held-out"], rows)]
    for name, table in result.get("memory", {}).items():
        rows = {step: [f"{ratio}"] for step, ratio in table.items()}
        lines += [f"## Memory: {name}", _table("step", ["beyond the idle process"], rows)]
    for name, cases in result.get("growth", {}).items():
        columns = list(dict.fromkeys(row for table in cases.values() for row in table))
        rows = {case: [f"{table[row]:.2f}" for row in columns] for case, table in cases.items()}
        lines += [f"## Growth: {name}", _table("case", columns, rows)]
    return "\n".join(lines)


def _table(corner: str, columns: list[str], rows: Mapping[str, list[Any]]) -> str:
    return as_markdown(TextTable((corner, *columns), [(name, *fields) for name, fields in rows.items()]))


def _about(found: dict[str, Any]) -> list[str]:
    told = [f"{found[key]} {key}" for key in ("threads", "repetitions") if key in found]
    if "matmul_share" in found:
        told.append(f"the plain step reaches {found['matmul_share']:.0%} of the machine's matrix-product rate")
    return [f"{', '.join(told)}.", ""] if told else []


def draw(result: dict[str, Any], path: Path) -> None:
    """Cost of each estimator against its realised decrease on held-out images."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    model, found = next(iter(result["models"].items()))
    rows = found["rows"]
    figure, panels = pyplot.subplots(1, len(result["quality"]), figsize=(11, 4), sharex=True, squeeze=False)
    for axes, (stage, table) in zip(panels[0], result["quality"].items(), strict=True):
        # Neighbours in height have their names on two sides of their points.
        shared = sorted((name for name in table if name in rows), key=lambda name: float(table[name]["held_out"]))
        for k, name in enumerate(shared):
            point = rows[name]["ratio"], table[name]["held_out"]
            axes.scatter(*point, color="tab:blue")
            side = {"xytext": (7, -4)} if k % 2 else {"xytext": (-7, -4), "ha": "right"}
            axes.annotate(name, point, textcoords="offset points", **side)
        axes.axhline(table.get("less mixing", {"held_out": 0})["held_out"], color="grey", linestyle="--", linewidth=1)
        axes.set(title=f"{stage} in training", xlabel=f"cost of a step of {model}, MixUp = 1")
        axes.margins(x=0.55, y=0.1)
    panels[0][0].set_ylabel("decrease of the loss on held-out digits\n(dashed: by mixing less)")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def write(result: dict[str, Any], path: Path) -> None:
    """The page, and beside it the plot where worth was measured."""
    plot = path.with_suffix(".svg") if "quality" in result else None
    if plot is not None:
        draw(result, plot)
    path.write_text(markdown(result, plot.name if plot else None), encoding="utf-8")


if __name__ == "__main__":
    source, page = map(Path, sys.argv[1:])
    write(json.loads(source.read_text(encoding="utf-8")), page)
