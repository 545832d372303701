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
    """Score the weights of a run on the test set: error, that of the first five answers (of six classes or more), NLL
    and ECE."""
    from metamixup.engine.records.run_folder import RunFolder
    from metamixup.engine.records.summary_check import worth_telling
    from metamixup.runs.run import evaluate_run
    from metamixup.storage import as_json

    folder = RunFolder(out)
    scores = evaluate_run(folder, data_dir, data)
    if json_:
        print(as_json(scores).decode())
        return
    summary = folder.read_summary() if folder.finished else {}
    for name, value in worth_telling(scores, len(summary.get("classes", []))).items():
        print(f"{name:<16} {value:.4f}")
