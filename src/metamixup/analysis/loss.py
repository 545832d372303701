"""Training loss of MixUp against MetaMixUp (Section IV-D): on the blends that were trained on, and on the training
images themselves. Soft labels have an entropy, so the first never falls to zero while λ mixes."""

from typing import Any

from metamixup.analysis.groups import by_label, mean_curve
from metamixup.analysis.records import Records
from metamixup.analysis.study import Study, interactive
from metamixup.analysis.style import COLUMN, colours, label, panels, styled
from metamixup.errors import UserError

_PANELS = (("training loss", "loss on the blends (nats)"), ("train_nll", "loss on the training images (nats)"))


def loss_study(runs: list[Records]) -> Study:
    curves = {name: _curves(own) for name, own in by_label(runs).items()}
    if not any(curve["epochs"] for curve in curves.values()):
        raise UserError("none of these runs has recorded an epoch yet (metrics.jsonl)")
    return Study("loss", {"methods": curves}, _figure(curves), _interactive(curves))


def _curves(own: list[Records]) -> dict[str, Any]:
    columns = {"training loss": [_total(run) for run in own], "train_nll": [run.column("train_nll") for run in own]}
    made: dict[str, Any] = {"runs": [str(run.path) for run in own]}
    for key, found in columns.items():
        means, low, high = mean_curve(found)
        made[key] = {"mean": means, "low": low, "high": high, "final": next((m for m in reversed(means) if m), None)}
    made["epochs"] = [line["epoch"] for line in own[0].metrics][: len(made["training loss"]["mean"])]
    return made


def _total(run: Records) -> list[float | None]:
    """The sum of a run's named losses."""
    losses = [line.get("losses") for line in run.metrics]
    return [sum(found.values()) if isinstance(found, dict) and found else None for found in losses]


def _figure(curves: dict[str, Any]) -> Any:
    with styled():
        figure, axes = panels(2, width=2 * COLUMN)
        for axis, (key, title) in zip(axes, _PANELS, strict=True):
            for (name, curve), colour in zip(curves.items(), colours(), strict=False):
                kept = [k for k, value in enumerate(curve[key]["mean"]) if value is not None]
                x, own = [curve["epochs"][k] for k in kept], curve[key]
                axis.plot(x, [own["mean"][k] for k in kept], color=colour, label=name)
                axis.fill_between(
                    x, [own["low"][k] for k in kept], [own["high"][k] for k in kept], color=colour, alpha=0.2
                )
            label(axis, title, "epoch", "cross entropy (nats)")
            axis.set_ylim(bottom=0)
        axes[0].legend()
    return figure


def _interactive(curves: dict[str, Any]) -> Any:
    figure = interactive("Training loss", "epoch", "cross entropy (nats)")
    for (name, curve), colour in zip(curves.items(), colours(), strict=False):
        for (key, title), dash in zip(_PANELS, ("solid", "dot"), strict=True):
            line = {"color": colour, "dash": dash}
            figure.add_scatter(x=curve["epochs"], y=curve[key]["mean"], name=f"{name}: {title}", line=line)
    return figure
