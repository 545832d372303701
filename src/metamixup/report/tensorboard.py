"""A run in TensorBoard while it trains: scalars, λ's histogram and the map over class pairs. It only listens."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from torch.utils.tensorboard import SummaryWriter

from metamixup.analysis.class_pairs import frames
from metamixup.analysis.style import SEQUENTIAL, label, panels, styled
from metamixup.engine.records.progress import Listener
from metamixup.storage import make_folder

STEPS_BETWEEN = 10
FIGURES = 20  # at most so many maps a run


class TensorBoard(Listener):
    """Everything is written at its step, so that a resumed run overwrites what it does again."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.figures_every = 1

    def started(self, epochs: int, steps_per_epoch: int, step: int) -> None:
        self.writer = SummaryWriter(str(make_folder(self.folder)), purge_step=step + 1 if step else None)
        self.figures_every = max(1, -(-epochs // FIGURES))

    def stepped(self, step: int, loss: float) -> None:
        if step % STEPS_BETWEEN == 0:
            self.writer.add_scalar("step/loss", loss, step)

    def epoch(self, line: dict[str, Any], lambdas: dict[str, Any]) -> None:
        step = line["step"]
        for name, value in scalars(line).items():
            self.writer.add_scalar(name, value, step)
        self._histogram("λ/all pairs", line.get("lambda_histogram"), step)
        for kind in ("same", "other"):
            self._histogram(f"λ/{kind} class", lambdas.get(kind), step)
        if line["epoch"] % self.figures_every == 0:
            self._map(lambdas, step)
        self.writer.flush()

    def stopped(self) -> None:
        self.writer.close()

    def _histogram(self, name: str, counts: list[int] | None, step: int) -> None:
        if not counts or not sum(counts):
            return
        edges = np.linspace(0, 1, len(counts) + 1)
        middle, number = (edges[1:] + edges[:-1]) / 2, np.array(counts, dtype=float)
        self.writer.add_histogram_raw(
            name, 0.0, 1.0, number.sum(), number @ middle, number @ middle**2, edges[1:].tolist(), counts, step
        )

    def _map(self, lambdas: dict[str, Any], step: int) -> None:
        for frame in frames([lambdas]):
            if frame.mixing is not None:
                self.writer.add_image("λ/mixing by class pair", _drawn(frame.mixing), step, dataformats="HWC")


def scalars(line: dict[str, Any]) -> dict[str, float]:
    """{"loss/supervised": …, "error/test": …, "lr": …} from a line of metrics.jsonl."""
    found = {f"loss/{name}": value for name, value in line.get("losses", {}).items()}
    for key, value in line.items():
        part, _, measure = key.partition("_")
        named = f"{measure}/{part}" if part in ("train", "meta", "test") and measure != "share" else key
        if isinstance(value, int | float) and key not in ("epoch", "step"):
            found[named] = value
    return found


def _drawn(table: np.ndarray) -> np.ndarray:
    """The table as a small picture, (H, W, 3) uint8."""
    with styled():
        figure, axes = panels(width=3.2, height=2.8)
        image = axes.imshow(table, vmin=0, vmax=1, cmap=SEQUENTIAL)
        axes.grid(False)
        figure.colorbar(image, label="mixing 1 − |2λ − 1|")
        label(axes, "", "class of $x_j$", "class of $x_i$")
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
