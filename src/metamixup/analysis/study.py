"""What a study gives: numbers (JSON), a static figure (PNG and SVG) and an interactive one (HTML)."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from matplotlib.figure import Figure

from metamixup.analysis.style import COLOURS, styled


@dataclass(frozen=True)
class Study:
    name: str
    numbers: dict[str, Any]
    figure: Figure
    interactive: go.Figure

    def save(self, out: Path) -> list[Path]:
        """Write NAME.json, .png, .svg and .html below `out`; the paths, the numbers' first."""
        out.mkdir(parents=True, exist_ok=True)
        paths = [out / f"{self.name}.{kind}" for kind in ("json", "png", "svg", "html")]
        paths[0].write_text(json.dumps(finite(self.numbers), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        with styled():
            self.figure.savefig(paths[1])
            self.figure.savefig(paths[2], metadata={"Date": None})
        self.interactive.write_html(paths[3], include_plotlyjs=True, config={"displaylogo": False, "responsive": True})
        return paths


def interactive(title: str, x: str = "", y: str = "", **layout: Any) -> go.Figure:
    """An empty plotly figure in the project's colours."""
    figure = go.Figure()
    figure.update_layout(
        title=title, xaxis_title=x, yaxis_title=y, template="plotly_white", colorway=COLOURS, font_size=14, **layout
    )
    return figure


def finite(value: Any) -> Any:
    """JSON knows no NaN and no infinity: both become null."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
