"""`metamixup predict`: the class of new images."""

import csv
import json
import mimetypes
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from metamixup.runs.predict import Prediction


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"


def predict(
    out: Annotated[Path, typer.Argument(help="The run folder.")],
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE|FOLDER…", help="Images, or folders of them.")],
    format: Annotated[Format, typer.Option(help="How the answer is printed.")] = Format.table,
) -> None:
    """Tell the class of images. Those that cannot be read are reported and skipped; the exit code is 3 then."""
    from metamixup.cli.output import printable
    from metamixup.engine.records.run_folder import RunFolder
    from metamixup.runs.predict import Predictor

    paths = _listed(images)
    found = list(Predictor(RunFolder(out))(paths))
    PRINT[format]([_row(prediction) for prediction in found if not prediction.problem])
    skipped = [prediction.problem for prediction in found if prediction.problem]
    skipped += [f"{folder}: {kinds}" for folder in images if (kinds := _not_read(folder))]
    for problem in skipped:
        print(printable(f"skipped: {problem}"), file=sys.stderr)
    if skipped:
        raise typer.Exit(3)


def _listed(images: Iterable[Path]) -> list[Path]:
    """Folders give all images below them; what does not exist is a mistake."""
    from metamixup.data.folder.files import image_files
    from metamixup.errors import UserError

    paths: list[Path] = []
    for path in images:
        if not path.exists():
            raise UserError(f"{path}: no such image or folder")
        if not path.is_dir() and not path.is_file():
            raise UserError(f"{path} is no ordinary file (a pipe or a device?); save the image, and give that file")
        found = image_files(path) if path.is_dir() else [path]
        if not found:
            others = f" ({kinds})" if (kinds := _not_read(path)) else ""
            raise UserError(f"{path}: no JPEG, PNG or WebP images in this folder{others}")
        paths += found
    return paths


def _not_read(path: Path) -> str:
    """How many photos of which kinds that are not read lie below a folder: `3 .heic, 1 .gif, since …`. A list or a film
    beside them is none."""
    from metamixup.data.folder.files import kinds_of, unread

    photos = [file.name for file in unread(path) if _may_be_a_photo(file.name)] if path.is_dir() else []
    return f"{kinds_of(photos)}, since only JPEG, PNG and WebP are read" if photos else ""


def _may_be_a_photo(name: str) -> bool:
    kind, _ = mimetypes.guess_type(name)
    return kind is None or kind.startswith("image/")


def _row(prediction: "Prediction") -> dict[str, Any]:
    from metamixup.data.folder.files import readable

    probability = round(prediction.probability, 6)
    return {"file": readable(str(prediction.path)), "class": prediction.label, "probability": probability}


def _table(rows: list[dict[str, Any]]) -> None:
    from metamixup.cli.columns import print_columns

    cells = [(row["file"], row["class"], f"{row['probability']:.3f}") for row in rows]
    print_columns(("file", "class", "probability"), cells)


def _csv(rows: list[dict[str, Any]]) -> None:
    writer = csv.DictWriter(sys.stdout, ["file", "class", "probability"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """A spreadsheet would run text that begins like a formula: an apostrophe makes it plain text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


def _json(rows: list[dict[str, Any]]) -> None:
    print(json.dumps(rows, indent=1))  # ASCII: whatever encoding standard output has, it stays JSON


PRINT = {Format.table: _table, Format.csv: _csv, Format.json: _json}
