"""What a study gives: numbers (JSON), a static figure (PNG and SVG) and an interactive one (HTML)."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from matplotlib.figure import Figure

from metamixup.analysis.style import COLOURS, styled
from metamixup.storage import as_json, write_output


@dataclass(frozen=True)
class Study:
    name: str
    numbers: dict[str, Any]
    figure: Figure
    interactive: go.Figure

    def save(self, out: Path) -> list[Path]:
        """Write NAME.json, .png, .svg and .html below `out`; the paths, the numbers' first."""
        files: dict[str, str | bytes] = {
            "json": as_json(self.numbers, indent=1) + b"\n",
            "png": self._drawn("png"),
            "svg": self._drawn("svg", metadata={"Date": None}),
            "html": self.interactive.to_html(include_plotlyjs=True, config={"displaylogo": False, "responsive": True}),
        }
        for kind, content in files.items():
            write_output(out / f"{self.name}.{kind}", content)
        return [out / f"{self.name}.{kind}" for kind in files]

    def _drawn(self, form: str, **options: Any) -> bytes:
        content = io.BytesIO()
        with styled():
            self.figure.savefig(content, format=form, **options)
        return content.getvalue()


def interactive(title: str, x: str = "", y: str = "", **layout: Any) -> go.Figure:
    """An empty plotly figure in the project's colours."""
    figure = go.Figure()
    figure.update_layout(
        title=title, xaxis_title=x, yaxis_title=y, template="plotly_white", colorway=COLOURS, font_size=14, **layout
    )
    return figure
