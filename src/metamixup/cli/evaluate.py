"""`metamixup evaluate`: a finished run's weights on its test set again."""

from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    out: Annotated[Path, typer.Argument(help="The run folder.")],
    data: Annotated[str | None, typer.Option(help="Where your own images lie now, if they have moved.")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Where data files lie now, if they have moved.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score the weights of a run on the test set: top-1 and top-5 error, NLL and ECE."""
    from metamixup.engine.records.run_folder import RunFolder
    from metamixup.runs.run import evaluate_run
    from metamixup.storage import as_json

    scores = evaluate_run(RunFolder(out), data_dir, data)
    if json_:
        print(as_json(scores).decode())
        return
    for name, value in scores.items():
        print(f"{name:<16} {value:.4f}")
