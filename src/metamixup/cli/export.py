"""`metamixup export`: a finished run's model for use elsewhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    safetensors = "safetensors"
    onnx = "onnx"
    pt2 = "pt2"


def export(
    out: Annotated[Path, typer.Argument(help="The run folder.")],
    format: Annotated[Form, typer.Option(help="pt2 is a torch.export program.")] = Form.safetensors,
    to: Annotated[Path | None, typer.Option(help="The file to write. [default: OUT/export/model.FORMAT]")] = None,
) -> None:
    """Write the model with a model card, and check that it answers as the original does."""
    from metamixup.cli.extras import needing
    from metamixup.engine.records.run_folder import RunFolder
    from metamixup.runs.export import export_run

    with needing("onnx"):
        done = export_run(RunFolder(out), format.value, to)
    print(f"{done.path} (agrees with the original to {done.difference:.1e}) and {done.card}")
