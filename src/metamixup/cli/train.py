"""`metamixup train`: one run, in a folder of its own."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from metamixup.engine.interrupt import Interrupt


def train(
    recipe: Annotated[str | None, typer.Option(help="Settings by name (`metamixup ls recipes`).")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings as TOML; flags win over it.")] = None,
    data: Annotated[str | None, typer.Option(help="A data set's name or path (`metamixup ls data`).")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie; else $METAMIXUP_DATA.")] = None,
    labels: Annotated[str | None, typer.Option(help="Training labels from a .csv or .npz file.")] = None,
    meta: Annotated[str | None, typer.Option(help="Images you vouch for: a folder, a list of files, or none.")] = None,
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
    compile_: Annotated[
        bool | None, typer.Option("--compile", help="The step by torch.compile, where it can be.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. [default: runs/DATA-MODEL-METHOD-SEED]")] = None,
    devices: Annotated[
        int, typer.Option(min=1, max=4096, help="Processes on this machine; torchrun's number counts.")
    ] = 1,
    nodes: Annotated[int, typer.Option(min=1, max=4096, help="Machines, each started with this command.")] = 1,
    strategy: Annotated[str, typer.Option(help="How processes share the model: ddp (fsdp is not served).")] = "ddp",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write OUT/tensorboard.")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any other setting, as key=value.")] = None,
) -> None:
    """Train a classifier and write OUT/: config, metrics, checkpoints, weights and a summary."""
    from metamixup.engine.interrupt import listening

    flags = {
        **{"data": data, "data_dir": data_dir, "model": model, "method": method, "epochs": epochs},
        **{"batch_size": batch_size, "seed": seed, "threads": threads, "optimizer.lr": lr, "policy.name": policy},
        **{"estimator.name": estimator, "policy.projection": projection, "compile": compile_},
        **{"labels": labels, "meta.source": meta, "start.weights": weights},
        "start.freeze": freeze and [name.strip() for name in freeze.split(",") if name.strip()],
    }
    # Heavy imports and data take seconds: a signal that comes meanwhile still ends with a checkpoint.
    with listening() as interrupt:
        given = given_settings(recipe, config, flags, set_ or [])
        join(devices, nodes, strategy, given, interrupt)
        run_training(out, given, resume, interrupt, tensorboard)


def join(devices: int, nodes: int, strategy: str, given: dict[str, Any], interrupt: "Interrupt") -> None:
    from metamixup.engine.launch import has_agent, launch, starter
    from metamixup.errors import UserError

    needed = [name for name in ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK") if name not in os.environ]
    if nodes > 1 and needed and not has_agent() and "SLURM_JOB_ID" not in os.environ:
        raise UserError(f"--nodes {nodes} needs {', '.join(needed)} in the environment of each machine, or torchrun")
    interrupt.parent = starter()
    launch(devices, nodes, strategy, given.get("device", "auto"), interrupt, partial(print, file=sys.stderr))


def given_settings(
    recipe: str | None, config: Path | None, flags: dict[str, Any], assignments: list[str]
) -> dict[str, Any]:
    """What the user named, by dotted key: the recipe, the file, then flags, then --set; the later wins."""
    from metamixup.settings.code import refuse_code
    from metamixup.settings.config import read_toml
    from metamixup.settings.dotted import nested
    from metamixup.settings.recipe import read_recipe
    from metamixup.settings.resolve import parse_assignment, with_whole_paths
    from metamixup.settings.schema import refuse_unknown

    given = read_recipe(recipe) if recipe is not None else {}
    given |= read_toml(config) if config is not None else {}
    refuse_unknown(nested(given), str(config))  # a mistake in the file is told with its name
    typed = {key: value for key, value in flags.items() if value is not None}
    typed |= dict(parse_assignment(text) for text in assignments)
    refuse_code({key: value for key, value in given.items() if key not in typed}, str(config), set(_texts(typed)))
    return with_whole_paths(given | typed)


def _texts(values: dict[str, Any]) -> list[str]:
    return [value for value in values.values() if isinstance(value, str)]


def run_training(
    out: Path | None, given: dict[str, Any], resume: bool, interrupt: "Interrupt", tensorboard: bool
) -> None:
    from metamixup import world
    from metamixup.cli.show import listeners, show_summary
    from metamixup.engine.launch import elastic
    from metamixup.engine.records.run_folder import RunFolder
    from metamixup.engine.runtime import usable_threads
    from metamixup.runs import run
    from metamixup.settings.resolve import default_out, resolve

    settings = resolve(given, usable_threads())
    folder = RunFolder(out or default_out(settings))
    watchers = listeners(folder, tensorboard) if world.leads() else []
    if not (elastic() or resume):
        summary = run.begin(folder, settings, watchers, interrupt)
        return show_summary(summary, folder) if world.leads() else None
    before = folder.finished
    summary = run.resume(folder, settings, given, watchers, interrupt)
    if not world.leads():
        return
    if before:
        print(f"{folder.root}: this run was finished already; nothing was done")
    show_summary(summary, folder)
