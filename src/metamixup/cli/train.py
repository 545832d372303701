"""`metamixup train`: one run, in a folder of its own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from metamixup.engine.folder import RunFolder
    from metamixup.experiments.schema import Settings


def train(
    config: Annotated[Path | None, typer.Option(help="Settings as TOML; flags win over it.")] = None,
    data: Annotated[str | None, typer.Option(help="A data set's name or path (`metamixup ls data`).")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie; else $METAMIXUP_DATA.")] = None,
    model: Annotated[str | None, typer.Option(help="A model's name (`metamixup ls models`).")] = None,
    method: Annotated[str | None, typer.Option(help="A method's name (`metamixup ls methods`).")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training images.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Images a step.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate at its highest.")] = None,
    policy: Annotated[str | None, typer.Option(help="Where λ comes from: fixed, beta, learned, …")] = None,
    estimator: Annotated[str | None, typer.Option(help="How ∇λ is found: head, exact, finite_difference.")] = None,
    projection: Annotated[str | None, typer.Option(help="How λ stays in [0, 1]: logit, clip, paper.")] = None,
    weights: Annotated[str | None, typer.Option(help="Fine-tune: a safetensors file or a run folder.")] = None,
    freeze: Annotated[str | None, typer.Option(help="Layers that stand still: stem,layer1")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed is another split, start and order.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of this process; part of what a seed means.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. [default: runs/DATA-MODEL-METHOD-SEED]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any other setting, as key=value.")] = None,
) -> None:
    """Train a classifier and write OUT/: config, metrics, checkpoints, weights and a summary."""
    from metamixup.engine.folder import RunFolder
    from metamixup.engine.runtime import usable_threads
    from metamixup.experiments.resolve import default_out, parse_assignment, read_toml, resolve

    flags = {
        "data": data and _absolute(data),
        "data_dir": data_dir and str(Path(data_dir).expanduser().absolute()),
        **{"model": model, "method": method, "epochs": epochs, "batch_size": batch_size, "seed": seed},
        **{"threads": threads, "optimizer.lr": lr, "policy.name": policy, "estimator.name": estimator},
        "policy.projection": projection,
        "start.weights": weights and str(Path(weights).expanduser().absolute()),
        "start.freeze": freeze and [name.strip() for name in freeze.split(",") if name.strip()],
    }
    given: dict[str, Any] = read_toml(config) if config is not None else {}
    given |= {key: value for key, value in flags.items() if value is not None}
    given |= dict(parse_assignment(text) for text in set_ or [])
    settings = resolve(given, usable_threads())
    folder = RunFolder(out or default_out(settings))
    run_training(folder, settings, given, resume)


def run_training(folder: "RunFolder", settings: "Settings", given: dict[str, Any], resume: bool) -> None:
    """Train in that folder, or go on there. `given` are the dotted settings that the user named."""
    from metamixup.cli.show import listener, show_summary
    from metamixup.experiments.run import Finished, open_run, run

    with open_run(folder, settings, given, resume) as opened:
        if isinstance(opened, Finished):
            print(f"{folder.root}: this run is finished; there is nothing to do")
            show_summary(opened.summary, folder)
            return
        show_summary(run(opened, folder, [listener()]), folder)


def _absolute(data: str) -> str:
    """A path is stored whole, so that a run goes on from any working directory; names stay names."""
    path = Path(data).expanduser()
    return str(path.absolute()) if "/" in data and ":" not in data and path.exists() else data
